// Package console is the console's listener: who may use it, how people log in, the API for programs at /api/v1, and where the pages are
// mounted. It computes no figures.
//
// Its [Registry] shows and changes teams for a person. It decides what the person may do; package teams decides what a change does. api.go
// has every route of the API, and openapi.json describes them; a test compares the two. The person of a request is in its context:
// without one, every answer is 401.
package console

import (
	"context"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/gateway/console/access"
)

// Deps are the console's dependencies.
type Deps struct {
	Access *access.Control
	// URL is the console's address for browsers. Nil: only loopback names are answered.
	URL *url.URL
	// API answers below /api/v1/.
	API http.Handler
	// Pages answers all other paths. It gets only requests of people who are logged in.
	Pages http.Handler
	// Assets answers below /assets/, without a login.
	Assets http.Handler
	// Templates are the templates "login", "unsent" and "sessions", which get [LoginPage], [UnsentPage] and [SessionsPage].
	Templates *template.Template
	// Pictures are sources of pictures for the Content-Security-Policy, such as https://store.example. May be empty.
	Pictures []string
	// Client returns the address of a request's client.
	Client func(*http.Request) string
	// Stopping ends when the process stops, and then streams must end. Nil: it never ends.
	Stopping context.Context
	// Hurried is called when [PaceBound] refuses a request. Nil: not called.
	Hurried func()
	// Now is the clock. Nil: the system's.
	Now func() time.Time
	Log *slog.Logger
}

// mostBody bounds a request's body, in bytes.
const mostBody = 1 << 20

// New returns the handler of the console's listener:
//
//	GET  /login                 the login page; with ?code= of a one-time link it logs in
//	POST /login                 logs in with a token or a team's key
//	GET  /login/oidc            redirects to the issuer, which returns to GET /login/callback
//	POST /logout                ends the session
//	GET  /sessions              the sessions; POST /sessions/end ends one
//	     /assets/…              Deps.Assets
//	     /api/v1/…              Deps.API, for the operator's token too
//	     /…                     Deps.Pages
//
// Handlers behind a login find the person with [access.From], and the client's address in RemoteAddr. Requests without a login
// get 401 with a problem document below /api/, and elsewhere a redirect to the login page, or for a form the page that keeps it.
func New(deps Deps) http.Handler {
	if deps.Hurried == nil {
		deps.Hurried = func() {}
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	c := &console{deps: deps}
	c.open = map[string]methods{
		"/login":          {http.MethodGet: c.loginPage, http.MethodPost: c.login},
		"/login/oidc":     {http.MethodGet: visits(c.signOn)},
		"/login/callback": {http.MethodGet: visits(c.callback)},
		"/logout":         {http.MethodPost: c.logout},
	}
	c.closed = map[string]methods{
		"/sessions":     {http.MethodGet: c.sessions},
		"/sessions/end": {http.MethodPost: c.endSession},
	}
	return c.guard(compressed(http.HandlerFunc(c.route)))
}

type console struct {
	deps   Deps
	open   map[string]methods // paths without a login
	closed map[string]methods // paths for people who are logged in
	pace   access.Limiters
}

// route dispatches every path.
func (c *console) route(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	open, closed := c.open[path], c.closed[path]
	switch {
	case open != nil:
		open.serve(w, r)
	case strings.HasPrefix(path, "/assets/"):
		c.deps.Assets.ServeHTTP(w, r)
	case closed != nil:
		c.known(w, r, closed.serve)
	case strings.HasPrefix(path, "/api/v1/"):
		c.known(w, r, c.deps.API.ServeHTTP)
	case isAPI(r):
		c.known(w, r, nothing)
	default:
		c.known(w, r, c.deps.Pages.ServeHTTP)
	}
}

func nothing(w http.ResponseWriter, r *http.Request) {
	refuse(w, r, CodePath, "There is nothing at this address.")
}

// methods are the handlers of a path.
type methods map[string]http.HandlerFunc

// serve calls the handler of the request's method, or answers 405. HEAD is GET.
func (m methods) serve(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if handler := m[method]; handler != nil {
		handler(w, r)
		return
	}
	allowed := strings.Join(slices.Sorted(maps.Keys(m)), ", ")
	w.Header().Set("Allow", allowed)
	refuse(w, r, CodeMethod, "This address takes only "+allowed+".")
}
