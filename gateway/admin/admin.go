package admin

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/policy/account"
	"sluice/policy/event"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Deps are the sources of the listener's reports. Its functions are called for every request, from any goroutine, and must not block.
type Deps struct {
	Ready  func() error // nil while this process should get requests; else the reason, without secrets
	Checks []Check      // listed by ?verbose in this order; may be empty
	// Standings returns the accounts at the service, which ?verbose lists after the checks; nil: none are listed.
	Standings func() []account.Standing
	Ledger    Ledger // for /usage; nil switches /usage off
	// Metrics answers /metrics; nil switches /metrics off.
	Metrics http.Handler
	// Currency returns the teams file's currency. It is called for each /usage.
	Currency func() unit.Currency
	// Teams returns the teams in force, of which /usage lists the raises and the limits of keys; nil: none are listed.
	Teams  func() *teams.File
	Inside Inside // required with Teams
	// Outbox has the deliveries that /events lists; nil switches /events off.
	Outbox event.Outbox
	// Hosts are the allowed names in a request's Host, in lower case, without port. Localhost and addresses are always
	// allowed. It may be empty.
	Hosts []string
	Pprof bool // switches /debug/pprof/ on; a heap profile can contain prompts and keys
}

// Check is one part of the process that can fail while the process still serves.
type Check struct {
	Name   string        // one word
	State  func() error  // nil if the part works; else the fault, without secrets
	Detail func() string // what is shown of a part that works; nil: ok
	// Needed means that the process must get no requests while the part does not work.
	Needed bool
}

// bodyPatience is how long an unread body may take. A connection on which a body arrives is never closed to make room for another, so it
// must not last.
const bodyPatience = time.Second

// New returns the handler of the admin listener:
//
//	/healthz        200 as long as the process answers
//	/readyz         200, or 503 with the reason: not serving yet, or stopping, or a check that is Needed fails
//	/metrics        metrics for Prometheus
//	/usage          the teams' usage as JSON, see [UsageReport]
//	/events?team=   the last deliveries to hooks as JSON
//	/debug/pprof/   only with Deps.Pprof
//
// The first two answer one line of text. ?verbose adds a line for each check, "name: ok" or "name: " and the fault, and then one for each
// account at the service, "account main: ok; weight 1, 0 in flight, key …f00d". A check that is not Needed does not change the status: a
// process with a fault still serves better than none. Methods other than GET and HEAD are answered 405, other paths 404, and other
// names in Host 421.
func New(deps Deps) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.ContentLength != 0 { // bodies are not read, and net/http would wait for one before it answers and before it closes
			w.Header().Set("Connection", "close")
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyPatience))
		}
		handler := deps.route(r.URL.Path)
		switch {
		case !deps.knows(r.Host):
			http.Error(w, "unknown host name; allowed: localhost, addresses, and the names in SLUICE_ADMIN_HOSTS", http.StatusMisdirectedRequest)
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

// route returns the handler of a path, or nil. A ServeMux would redirect similar paths, which probes take for success.
func (d Deps) route(path string) http.HandlerFunc {
	switch name, isProfile := strings.CutPrefix(path, "/debug/pprof/"); {
	case path == "/healthz":
		return func(w http.ResponseWriter, r *http.Request) { d.answer(w, r, http.StatusOK, "ok") }
	case path == "/readyz":
		return d.ready
	case path == "/metrics" && d.Metrics != nil:
		return d.Metrics.ServeHTTP
	case path == "/usage" && d.Ledger != nil:
		return d.usage
	case path == "/events" && d.Outbox != nil:
		return func(w http.ResponseWriter, r *http.Request) { deliveries(w, r, d.Outbox, d.Teams) }
	case isProfile && d.Pprof:
		return profile(name)
	}
	return nil
}

func (d Deps) ready(w http.ResponseWriter, r *http.Request) {
	err := d.Ready()
	for i := range d.Checks {
		if c := &d.Checks[i]; c.Needed && err == nil {
			err = c.State()
		}
	}
	if err != nil {
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
		_, _ = fmt.Fprintf(w, "%s: %s\n", check.Name, check.text())
	}
	if d.Standings != nil {
		for _, s := range d.Standings() {
			_, _ = fmt.Fprintf(w, "account %s: %s\n", s.ID, s.Line())
		}
	}
}

func (c *Check) text() string {
	if err := c.State(); err != nil {
		return err.Error()
	}
	if c.Detail != nil {
		return c.Detail()
	}
	return "ok"
}

// profile returns the handler of a page of the standard library's profiler. Index serves all but these four.
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

// knows reports whether a request's Host is allowed. A web page could point its domain at the listener's address, and
// the operator's browser would let it read the answers (DNS rebinding). It cannot do that with an address, with
// localhost or without a Host, which every browser sends.
func (d Deps) knows(host string) bool {
	name := host
	if alone, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
		name = alone
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil || name == "" || name == "localhost" {
		return true
	}
	return slices.Contains(d.Hosts, name)
}
