package api

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/registry"
	"sluice/policy/limit"
)

// Prefix is what every path begins with.
const Prefix = "/api/v1"

// Ledger is what teams used on days, each yyyymmdd.
type Ledger interface {
	// TeamLedger returns the rows of a team if they are at most so many; else [limit.ErrRows].
	TeamLedger(ctx context.Context, team string, days []int, most int) ([]limit.Row, error)
	// Tags returns the rows of a team's ledger of tags.
	Tags(ctx context.Context, team string, days []int) ([]limit.Row, error)
}

// Tasks lists tasks of a team, the newest first. next is the cursor of the next page; empty: this is the last. The error of a
// cursor that it does not know MUST be [ErrCursor].
type Tasks interface {
	Tasks(ctx context.Context, q TaskQuery) (list []Task, next string, err error)
}

// Requests lists the last requests as their log lines, the newest first, likewise.
type Requests interface {
	Requests(ctx context.Context, q RequestQuery) (lines []json.RawMessage, next string, err error)
}

// ErrCursor is the error of a cursor that no page had.
var ErrCursor = errors.New("the cursor is not one of a page")

// Deps are what the interface shows. Tasks and Requests may be nil: there are none then.
type Deps struct {
	Registry *registry.Registry
	Ledger   Ledger
	Tasks    Tasks
	Requests Requests
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
		return nil, &registry.Error{Text: "the query is not one of a URL"}
	}
	for name, values := range query {
		if !slices.Contains(known, name) || len(values) > 1 {
			e := &registry.Error{Field: "query", Text: "an unknown or repeated parameter", Allowed: "none"}
			if known != nil {
				e.Allowed = "each once of " + strings.Join(known, ", ")
			}
			return nil, e
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
	roles := map[access.Role]string{access.Member: "member", access.Viewer: "viewer", access.Operator: "operator"}
	return c.write(http.StatusOK, Me{c.who.Name, roles[c.who.Role], c.who.Teams})
}

// Me is a person.
type Me struct {
	Name  string   `json:"name"`
	Role  string   `json:"role"`
	Teams []string `json:"teams,omitempty"` // a member's
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
