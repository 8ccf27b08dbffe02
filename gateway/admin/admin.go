package admin

import (
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"strings"
)

// Deps are what the listener tells of. Its functions are called for every request, from any goroutine, and must not
// wait for anything.
type Deps struct {
	Ready  func() error // nil while requests should be sent to this process; else why not, in words without secrets
	Checks []Check      // what ?verbose lists, in this order; may be empty
	Ledger Ledger       // what /usage answers with; nil: there is no /usage
	// Metrics is the page for Prometheus; nil: there is no /metrics.
	Metrics http.Handler
	// Currency is the teams file's word for money; called for each /usage.
	Currency func() string
	// Hosts are the names by which the listener is asked, in lower case, without port, beside localhost and addresses, which
	// are always answered; may be empty.
	Hosts []string
	Pprof bool // whether /debug/pprof/ is there; a heap profile can contain prompts and keys
}

// Check is one part of the process that may be unwell while it still serves.
type Check struct {
	Name  string       // one word
	State func() error // nil when all is well; else what is wrong, in words without secrets
}

// New returns the handler of the admin listener:
//
//	/healthz        200 for as long as the process answers at all
//	/readyz         200, or 503 with the reason: not serving yet, or stopping
//	/metrics        the process's instruments, for Prometheus
//	/usage          what teams used, as JSON: see [UsageReport]
//	/debug/pprof/   only with Deps.Pprof
//
// The first two answer one line of text. With ?verbose there follows one line for each check, "name: ok" or "name: "
// and what is wrong; a check does not change the status, because a process that limps still serves better than none.
// Methods other than GET and HEAD are answered 405, other paths 404, and a Host that is no name of the listener 421.
func New(deps Deps) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.ContentLength != 0 { // a body, which is not read; net/http would wait for it before it answers
			w.Header().Set("Connection", "close")
		}
		handler := deps.route(r.URL.Path)
		switch {
		case !deps.knows(r.Host):
			http.Error(w, "this listener has no such name; SLUICE_ADMIN_HOSTS lists its names beside localhost and addresses", http.StatusMisdirectedRequest)
		case handler == nil:
			http.Error(w, "not found", http.StatusNotFound)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		default:
			handler(w, r)
		}
	})
}

// route finds the handler of a path. A ServeMux would redirect paths that are nearly right, which probes take for well.
func (d Deps) route(path string) http.HandlerFunc {
	switch name, isProfile := strings.CutPrefix(path, "/debug/pprof/"); {
	case path == "/healthz":
		return d.health
	case path == "/readyz":
		return d.ready
	case path == "/metrics" && d.Metrics != nil:
		return d.Metrics.ServeHTTP
	case path == "/usage" && d.Ledger != nil:
		return d.usage
	case isProfile && d.Pprof:
		return profile(name)
	}
	return nil
}

func (d Deps) health(w http.ResponseWriter, r *http.Request) {
	d.answer(w, r, http.StatusOK, "ok")
}

func (d Deps) ready(w http.ResponseWriter, r *http.Request) {
	if err := d.Ready(); err != nil {
		d.answer(w, r, http.StatusServiceUnavailable, "not ready: "+err.Error())
		return
	}
	d.answer(w, r, http.StatusOK, "ready")
}

func (d Deps) answer(w http.ResponseWriter, r *http.Request, status int, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, line+"\n")
	if !r.URL.Query().Has("verbose") {
		return
	}
	for _, check := range d.Checks {
		state := "ok"
		if err := check.State(); err != nil {
			state = err.Error()
		}
		_, _ = fmt.Fprintf(w, "%s: %s\n", check.Name, state)
	}
}

// profile finds a page of the standard library's profiler, which knows those that are no plain profile by name.
func profile(name string) http.HandlerFunc {
	switch name {
	case "cmdline":
		return pprof.Cmdline
	case "profile":
		return pprof.Profile
	case "symbol":
		return pprof.Symbol
	case "trace":
		return pprof.Trace
	}
	return pprof.Index
}
