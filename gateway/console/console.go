// Package console is the console's listener: who may speak to it, how people log in, and where the pages and the API are
// mounted. It decides nothing about teams and keeps no figures.
package console

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"sluice/gateway/console/access"
)

// Deps are what the console is made of.
type Deps struct {
	Desk *access.Desk
	// URL is the console's address for browsers. Nil: only loopback names are answered.
	URL *url.URL
	// API answers below /api/v1/. Nil: 404.
	API http.Handler
	// Pages answers all other paths, and gets only requests of people who are logged in. Nil: the list of sessions is the page.
	Pages http.Handler
	// Assets answers below /assets/, for everybody. Nil: 404.
	Assets http.Handler
	// Templates are the templates "login" and "sessions", which get [LoginPage] and [SessionsPage].
	Templates *template.Template
	// Pictures are sources of pictures for the Content-Security-Policy, such as https://store.example. May be empty.
	Pictures []string
	// Client returns the address of a request's client.
	Client func(*http.Request) string
	// Stopping ends when streams shall end, because the process stops. Nil: they do not.
	Stopping context.Context
	// Hurried is called when [PaceBound] refuses a request. Nil: it is not called.
	Hurried func()
	// Now is the clock. Nil: the system's.
	Now func() time.Time
	Log *slog.Logger
}

// mostBody is how many bytes a request's body may have.
const mostBody = 1 << 20

// New returns the handler of the console's listener:
//
//	GET  /login                 the login page; with ?code= of a one-time link it logs in
//	POST /login                 logs in with a token or a team's key
//	GET  /login/oidc            goes to the issuer, which comes back to GET /login/callback
//	POST /logout                ends the session
//	GET  /sessions              the sessions; POST /sessions/end ends one
//	     /assets/…              Deps.Assets
//	     /api/v1/…              Deps.API, for the operator's token too
//	     /…                     Deps.Pages
//
// Handlers behind a login find the person with [access.From], and the client's address in RemoteAddr. All others are answered
// 401 with a problem document below /api/, and elsewhere led to the login page.
func New(deps Deps) http.Handler {
	if deps.Hurried == nil {
		deps.Hurried = func() {}
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	c := &console{deps: deps, policy: contentPolicy(deps.Pictures), pace: pace{people: map[string]*rate.Limiter{}}}
	return c.guard(http.HandlerFunc(c.route))
}

type console struct {
	deps   Deps
	policy string // the Content-Security-Policy
	pace   pace
}

// route is every path there is.
func (c *console) route(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case path == "/login":
		c.methods(w, r, map[string]http.HandlerFunc{http.MethodGet: c.loginPage, http.MethodPost: c.login})
	case path == "/login/oidc":
		c.methods(w, r, map[string]http.HandlerFunc{http.MethodGet: c.visits(c.signOn)})
	case path == "/login/callback":
		c.methods(w, r, map[string]http.HandlerFunc{http.MethodGet: c.visits(c.callback)})
	case strings.HasPrefix(path, "/assets/"):
		c.serve(w, r, c.deps.Assets)
	case path == "/logout":
		c.methods(w, r, map[string]http.HandlerFunc{http.MethodPost: c.logout})
	case strings.HasPrefix(path, "/api/"):
		c.known(w, r, c.api)
	case path == "/sessions":
		c.known(w, r, func(w http.ResponseWriter, r *http.Request) {
			c.methods(w, r, map[string]http.HandlerFunc{http.MethodGet: c.sessions})
		})
	case path == "/sessions/end":
		c.known(w, r, func(w http.ResponseWriter, r *http.Request) {
			c.methods(w, r, map[string]http.HandlerFunc{http.MethodPost: c.endSession})
		})
	default:
		c.known(w, r, c.pages)
	}
}

func (c *console) api(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, "/api/v1/") {
		c.serve(w, r, nil)
		return
	}
	c.serve(w, r, c.deps.API)
}

func (c *console) pages(w http.ResponseWriter, r *http.Request) {
	if c.deps.Pages == nil && r.URL.Path == "/" {
		http.Redirect(w, r, "/sessions", http.StatusSeeOther)
		return
	}
	c.serve(w, r, c.deps.Pages)
}

// serve calls a handler, or answers 404 without one.
func (c *console) serve(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	if handler == nil {
		c.refuse(w, r, http.StatusNotFound, "There is nothing at this address.")
		return
	}
	handler.ServeHTTP(w, r)
}

// methods calls the handler of the request's method, or answers 405. HEAD is GET.
func (c *console) methods(w http.ResponseWriter, r *http.Request, handlers map[string]http.HandlerFunc) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if handler := handlers[method]; handler != nil {
		handler(w, r)
		return
	}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if handlers[method] != nil {
			allowed = append(allowed, method)
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	c.refuse(w, r, http.StatusMethodNotAllowed, "This address takes "+strings.Join(allowed, ", ")+" alone.")
}
