// Package api is the teams as a person of the console may see and change them, [Registry], and the console's interface for programs:
// /api/v1, JSON over HTTP. routes.go has every route, openapi.json describes them; a test holds the two together.
//
// The registry decides what a person may see and change; the rest reads and writes HTTP. The person of a request is in its context:
// without one, every answer is 401.
package api

import (
	"context"
	_ "embed"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/policy/limit"
	"sluice/telemetry/recent"
)

// Prefix is what every path begins with.
const Prefix = "/api/v1"

// Ledger is what teams used on days.
type Ledger interface {
	// Rows returns rows of the ledger in the order of reports; [limit.ErrRows] if there are more than the query allows.
	Rows(ctx context.Context, q limit.Query) ([]limit.Row, error)
}

// Traffic lists tasks and requests, as package figures does: what the person may not see MUST be left out.
type Traffic interface {
	TaskList(ctx context.Context, p access.Person, f figures.TaskFilter) (figures.TaskList, error)
	RequestList(ctx context.Context, p access.Person, f recent.Filter) (recent.Page, error)
}

// Deps are what the interface shows.
type Deps struct {
	Registry *Registry
	Ledger   Ledger
	Traffic  Traffic
	Currency func() string // the teams file's word for money; may be empty
	Now      func() time.Time
	Log      *slog.Logger // the causes of answers with 5xx
}

type api struct{ Deps }

// route is one method of one path.
type route struct {
	method, path string   // a part in braces takes any text
	query        []string // the parameters that it takes
	handle       func(*api, *call) error
}

// call is one request of a route.
type call struct {
	w     http.ResponseWriter
	r     *http.Request
	who   access.Person
	parts map[string]string // of the path, by their names in braces
	query url.Values
}

// serve finds the route.
func (a *api) serve(w http.ResponseWriter, r *http.Request, routes []route) error {
	who := access.From(r.Context())
	if who.Role == 0 {
		return errLogin
	}
	rest, below := strings.CutPrefix(r.URL.EscapedPath(), Prefix)
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var allow []string
	for _, route := range routes {
		parts, ok := route.match(rest)
		switch {
		case !ok || !below:
			continue
		case route.method != method:
			allow = append(allow, route.method)
			continue
		}
		query, err := readQuery(r.URL.RawQuery, route.query)
		if err != nil {
			return err
		}
		return route.handle(a, &call{w, r, who, parts, query})
	}
	if allow == nil {
		return errNoPath
	}
	if slices.Contains(allow, http.MethodGet) {
		allow = append(allow, http.MethodHead)
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	return errNoMethod
}

// match takes the parts in braces out of a path.
func (r route) match(path string) (parts map[string]string, ok bool) {
	want, got := strings.Split(r.path, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	parts = map[string]string{}
	for i, name := range want {
		if !strings.HasPrefix(name, "{") {
			if name != got[i] {
				return nil, false
			}
			continue
		}
		text, err := url.PathUnescape(got[i])
		if err != nil || text == "" {
			return nil, false
		}
		parts[strings.Trim(name, "{}")] = text
	}
	return parts, true
}

// readQuery reads parameters, each once.
func readQuery(raw string, known []string) (url.Values, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, invalid("", "the query is not one of a URL", "")
	}
	for name, values := range query {
		if !slices.Contains(known, name) || len(values) > 1 {
			allowed := "none"
			if known != nil {
				allowed = "each once of " + strings.Join(known, ", ")
			}
			return nil, invalid("query", "an unknown or repeated parameter", allowed)
		}
	}
	return query, nil
}

//go:embed openapi.json
var openAPIDocument []byte

func (a *api) openAPI(c *call) error {
	c.w.Header().Set("Content-Type", "application/json")
	_, _ = c.w.Write(openAPIDocument)
	return nil
}

// me is who asks.
func (a *api) me(c *call) error {
	return c.write(http.StatusOK, Me{c.who.Name, c.who.Role.String(), c.who.Teams})
}

// Me is a person.
type Me struct {
	Name  string   `json:"name"`
	Role  string   `json:"role"`
	Teams []string `json:"teams,omitempty"` // a member's
}

// actor is who makes a change, and from where.
func (c *call) actor() access.Actor { return c.who.By(c.r.RemoteAddr, c.query.Get("reason")) }

// done answers that something was done, or returns why not.
func (c *call) done(err error) error {
	if err == nil {
		c.w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// write answers with a value as JSON.
func (c *call) write(status int, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	_, _ = c.w.Write(append(text, '\n')) // the client may have left
	return nil
}
