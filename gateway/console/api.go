package console

import (
	"context"
	_ "embed"
	"encoding/json"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
	"sluice/policy/event"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
	"sluice/telemetry/recent"
)

// Prefix begins every path.
const Prefix = "/api/v1"

// Ledger holds the daily use of teams.
type Ledger interface {
	// Rows MUST return rows of the ledger in the order of reports, or [limit.ErrRows] if there are more than the query allows.
	Rows(ctx context.Context, q limit.Query) ([]limit.Row, error)
}

// Traffic has the figures of package figures. It MUST leave out what the person may not see.
type Traffic interface {
	TaskList(ctx context.Context, p access.Person, f figures.TaskFilter) (figures.TaskList, error)
	RequestList(ctx context.Context, p access.Person, f recent.Filter) (recent.Page, error)
	Request(ctx context.Context, p access.Person, id string) (recent.Request, error)
	Search(ctx context.Context, p access.Person, text string) ([]figures.Found, error)
	Latency(ctx context.Context, p access.Person, q figures.LatencyQuery) ([]figures.LatencyRow, error)
	FaultList(ctx context.Context, p access.Person) []figures.Fault
	NearList(ctx context.Context, p access.Person, percent int) ([]figures.TeamLine, error)
	Refused(ctx context.Context, p access.Person, q figures.RefusedQuery) (figures.Refused, error)
	Deliveries(ctx context.Context, p access.Person, q event.Query) (event.Report, error)
	AccountList(ctx context.Context, p access.Person) (figures.AccountList, error)
}

// APIDeps are the dependencies of the API.
type APIDeps struct {
	Registry *Registry
	Ledger   Ledger
	Traffic  Traffic
	Currency func() unit.Currency // of the teams file
	Now      func() time.Time
	Log      *slog.Logger // the causes of answers with 5xx
}

type api struct{ APIDeps }

// route is one method of one path.
type route struct {
	method, path string   // a part in braces matches any text
	query        []string // the known parameters
	handle       func(*api, *call) error
}

// call is one request of a route.
type call struct {
	w     http.ResponseWriter
	r     *http.Request
	who   access.Person
	parts map[string]string // of the path, by the names in braces
	query url.Values
}

var (
	errLogin    = &teams.Problem{Code: CodeLogin, Text: "no valid token", Advice: "send Authorization: Bearer with the console's token"}
	errNoPath   = &teams.Problem{Code: CodePath, Text: "there is no such path", Advice: "look at " + Prefix + "/openapi.json"}
	errNoMethod = &teams.Problem{Code: CodeMethod, Text: "the path does not accept this method", Advice: "look at the header Allow"}
)

// serve finds the route and calls it.
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

// match returns the texts of the parts in braces; false: another path.
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

// readQuery parses the query. Each parameter must be known and occur once.
func readQuery(raw string, known []string) (url.Values, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, invalid("", "the query is not a valid query of a URL", "")
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

// me answers with the caller.
func (a *api) me(c *call) error {
	return c.write(http.StatusOK, Me{c.who.Name, c.who.Role.String(), c.who.Teams})
}

// Me is a person.
type Me struct {
	Name  string   `json:"name"`
	Role  string   `json:"role"`
	Teams []string `json:"teams,omitempty"` // a member's
}

// actor returns the caller as the actor of a change.
func (c *call) actor() access.Actor { return c.who.By(c.r.RemoteAddr, c.query.Get("reason")) }

// done answers a successful change with 204, or returns its error.
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

// routes are the routes of the API.
var routes = []route{
	{http.MethodGet, "/me", nil, (*api).me},
	{http.MethodGet, "/openapi.json", nil, (*api).openAPI},
	{http.MethodGet, "/teams", []string{"cursor", "limit"}, (*api).teams},
	{http.MethodPost, "/teams", []string{"reason"}, (*api).createTeam},
	{http.MethodGet, "/teams/{id}", nil, (*api).team},
	{http.MethodPut, "/teams/{id}", []string{"reason"}, (*api).replaceTeam},
	{http.MethodDelete, "/teams/{id}", []string{"reason"}, (*api).deleteTeam},
	{http.MethodGet, "/teams/{id}/keys", nil, (*api).keys},
	{http.MethodPost, "/teams/{id}/keys", []string{"reason"}, (*api).mintKey},
	{http.MethodPatch, "/teams/{id}/keys/{key}", []string{"reason"}, (*api).changeKey},
	{http.MethodDelete, "/teams/{id}/keys/{key}", []string{"reason"}, (*api).endKey},
	{http.MethodGet, "/teams/{id}/raises", nil, listRaises},
	{http.MethodPost, "/teams/{id}/raises", nil, addRaise},
	{http.MethodDelete, "/teams/{id}/raises/{raise}", []string{"reason"}, endRaise},
	{http.MethodGet, "/teams/{id}/usage", []string{"from", "to", "by"}, (*api).usage},
	{http.MethodGet, "/usage", []string{"from", "to", "by"}, usageOfAll},
	{http.MethodPost, "/teams/{id}/adjust", nil, (*api).adjust},
	{http.MethodGet, "/teams/{id}/tasks", []string{"state", "model", "cursor", "limit"}, (*api).tasks},
	{http.MethodPost, "/teams/{id}/tasks/{task}/cancel", []string{"reason"}, (*api).cancel},
	{http.MethodGet, "/requests", append([]string{"cursor", "limit"}, FilterNames...), (*api).requests},
	{http.MethodGet, "/requests/{request}", nil, request},
	{http.MethodGet, "/search", []string{"q"}, search},
	{http.MethodGet, "/latency", []string{"by", "from", "to", "step"}, latencies},
	{http.MethodGet, "/faults", nil, faults},
	{http.MethodGet, "/limits", []string{"percent"}, limits},
	{http.MethodGet, "/refusals", []string{"by", "team", "from", "to"}, refusals},
	{http.MethodGet, "/events", []string{"team", "hook", "state", "event"}, deliveries},
	{http.MethodGet, "/accounts", nil, accounts},
	{http.MethodGet, "/audit", []string{"team", "cursor", "limit"}, (*api).audit},
}

// NewAPI returns the handler of all paths below [Prefix]. The client's address is in RemoteAddr.
func NewAPI(deps APIDeps) http.Handler {
	a := &api{deps}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err := a.serve(w, r, routes); err != nil {
			a.refuse(w, r, err)
		}
	})
}

// refuse answers with a problem, and logs the cause if the status is 5xx.
func (a *api) refuse(w http.ResponseWriter, r *http.Request, err error) {
	d := documentOf(err)
	if d.Status >= http.StatusInternalServerError {
		cause := err
		if d.Cause != nil {
			cause = d.Cause
		}
		a.Log.Error("console", "method", r.Method, "error", cause.Error())
	}
	if d.Wait > 0 {
		w.Header().Set("Retry-After", strconv.FormatFloat(math.Ceil(d.Wait.Seconds()), 'f', 0, 64))
	}
	switch d.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "5")
	}
	d.Write(w)
}
