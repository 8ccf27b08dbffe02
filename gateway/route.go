package gateway

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sluice/gateway/openai"
	"sluice/gateway/refusal"
	"sluice/gateway/tasks"
	"sluice/gateway/upstream"
	"sluice/policy"
	"sluice/policy/forms"
	"sluice/policy/teams"
)

const (
	get  = http.MethodGet
	post = http.MethodPost

	versionPrefix = "/api/v1/"
	usagePath     = "/sluice/v1/usage" // the team's limits, tasks and ledger
	echoPath      = "/sluice/v1/echo"  // tests the path to Sluice, without the service
	ownTasks      = "/sluice/v1/tasks/"
	resultPath    = ownTasks + "{id}/results/{n}" // a stored picture
	frontRoot     = "/v1"                         // the base path of OpenAI's interface; it is not served itself
	frontPrefix   = frontRoot + "/"
	frontModels   = frontPrefix + "models"
	frontTasks    = frontPrefix + "images/tasks/"
)

// route is one row of the public surface.
type route struct {
	method   string          // "": any method that a forwarded path takes
	path     string          // relative to the version prefix; {id} stands for a task id
	prefix   bool            // path is a prefix, which ends at the end of a segment
	reads    forms.Form      // the form of bodies that no rule judges: on forwarded paths and for embeddings
	creates  bool            // it creates tasks; on a forwarded path the request decides
	older    bool            // one of the older families of image tasks
	query    bool            // it is about one task
	form     bool            // its body is a form
	free     bool            // it costs nothing: no rate and no quota refuses it
	repeats  bool            // repetitions are recognized by their bodies, so bodies are read before a remembered refusal counts
	endpoint policy.Endpoint // empty: open to every team
	front    string          // the log's word for the dialect; empty: the service's own, or shared by dialects
	run      handler

	name string // the path's template as clients write it
}

// routes finds a request's route. net/http's ServeMux does not fit: it redirects paths with // or .., answers 404
// and 405 in plain text, and decodes %2F inside a wildcard.
type routes struct {
	exact    map[string]*route
	fronts   []string // the paths of the dialects
	prefixes []*route
}

func newRoutes(table []route) *routes {
	rs := &routes{exact: make(map[string]*route)}
	rs.add(table)
	// The longest prefix wins, in whatever order the operator lists them.
	slices.SortFunc(rs.prefixes, func(a, b *route) int { return len(b.path) - len(a.path) })
	return rs
}

func (rs *routes) add(table []route) {
	for i := range table {
		r := &table[i]
		r.name = r.path
		switch {
		case r.path[0] != '/':
			r.name = versionPrefix + r.path
		case strings.HasPrefix(r.path, frontPrefix):
			rs.fronts = append(rs.fronts, r.path)
		}
		if r.prefix {
			rs.prefixes = append(rs.prefixes, r)
			continue
		}
		rs.exact[r.path] = r
	}
}

// isFront reports whether a URL belongs to OpenAI's interface, even if its path is not served.
func isFront(to *url.URL) bool {
	return to != nil && (strings.HasPrefix(to.Path, frontPrefix) || to.Path == frontRoot)
}

// match is the route of a path, and the variable parts of the path.
type match struct {
	route   *route
	task    string // the id, on task routes
	picture int    // its number from 1, on the route of stored pictures
	rest    string // of a forwarded path: the whole relative path, still encoded; of a model's path: its name
}

// find reads the escaped path, so that an encoded slash does not end a segment. It refuses an unknown path and an invalid
// task id as route/path, and another method as route/method.
func (rs *routes) find(method string, u *url.URL) (match, error) {
	if method == http.MethodConnect || method == "PRI" {
		return match{}, refusal.New(refusal.Method).Say("The method %s is not served.", policy.Brief(method)).Closing()
	}
	m, ok := rs.lookup(u.EscapedPath())
	if !ok {
		if isFront(u) && rs.exact[frontModels] != nil {
			return match{}, refusal.New(refusal.Path).Say("%s", openai.Unserved(u.Path, rs.fronts))
		}
		return match{}, refusal.New(refusal.Path).Say("This path is not served. The paths are those of the service below %s.", versionPrefix)
	}
	if m.route.method != "" && method != m.route.method || m.route.prefix && !slices.Contains(forwardMethods, method) {
		return match{}, refusal.New(refusal.Method).Say("Method: given %s, allowed %s.", policy.Brief(method), allowed(m.route)).
			With("Allow", allowed(m.route))
	}
	return m, nil
}

func (rs *routes) lookup(path string) (match, bool) {
	relative, ok := strings.CutPrefix(path, versionPrefix)
	if !ok {
		return rs.lookupOwn(path)
	}
	if r := rs.exact[relative]; r != nil && relative[0] != '/' { // the map has the paths outside the prefix, too
		return match{route: r}, true
	}
	if rest, ok := strings.CutPrefix(relative, "tasks/"); ok {
		return rs.lookupTask(rest)
	}
	for _, r := range rs.prefixes {
		if rest, ok := strings.CutPrefix(relative, r.path); ok && (rest == "" || rest[0] == '/') && upstream.StaysBelow(rest) {
			return match{route: r, rest: relative}, true
		}
	}
	return match{}, false
}

// lookupOwn finds the paths outside the service's version prefix.
func (rs *routes) lookupOwn(path string) (match, bool) {
	if id, ok := strings.CutPrefix(path, frontTasks); ok {
		r := rs.exact[frontTasks+"{id}"]
		return match{route: r, task: id}, r != nil && tasks.IsID(id)
	}
	if escaped, ok := strings.CutPrefix(path, frontModels+"/"); ok {
		r := rs.exact[frontModels+"/{id}"]
		name, err := url.PathUnescape(escaped)
		return match{route: r, rest: name}, r != nil && err == nil && name != ""
	}
	if rest, ok := strings.CutPrefix(path, ownTasks); ok {
		id, n, ok := tasks.ReadResult(rest)
		return match{route: rs.exact[resultPath], task: id, picture: n}, ok
	}
	r := rs.exact[path]
	return match{route: r}, r != nil && path[0] == '/'
}

// lookupTask finds tasks/, tasks/{id} and tasks/{id}/cancel, each with or without a slash at the end: clients send
// both, and would drop their key on a redirect.
func (rs *routes) lookupTask(rest string) (match, bool) {
	id, action, _ := strings.Cut(strings.TrimSuffix(rest, "/"), "/")
	if rest == "" {
		return match{route: rs.exact["tasks"]}, true
	}
	id, err := url.PathUnescape(id)
	if err != nil || !tasks.IsID(id) || strings.HasSuffix(rest, "//") {
		return match{}, false
	}
	path := "tasks/{id}"
	if action != "" {
		path += "/" + action
	}
	r := rs.exact[path]
	return match{route: r, task: id}, r != nil
}

var forwardMethods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func allowed(r *route) string {
	if r.method != "" {
		return r.method
	}
	return strings.Join(forwardMethods, ", ")
}

// handler answers one request, or returns an error. ServeHTTP writes the error.
type handler func(w *reply, r *http.Request, s *requestState) error

// stage is a step before a handler. It calls next, or returns an error, which ends the request.
type stage func(next handler) handler

// chain puts the stages, listed in running order, before the handler.
func chain(last handler, stages ...stage) handler {
	for i := len(stages) - 1; i >= 0; i-- {
		last = stages[i](last)
	}
	return last
}

// opaque reports whether the route's bodies are not read: the model is unknown, and each request counts as one request.
func (r *route) opaque() bool { return r.prefix && !r.reads.Governed() }

// mayCreate reports whether requests on the route may create tasks: only the service's own form has them.
func (r *route) mayCreate() bool { return !r.reads.Governed() || r.reads == forms.Native }

// mayUse checks that the team may use the route's endpoint. A route whose bodies are read by a form is open to every team that has no list
// of endpoints.
func mayUse(to *route, team *teams.Team) error {
	if team.Endpoints == nil && to.reads.Governed() {
		return nil
	}
	if to.endpoint != "" && !team.MayUse(to.endpoint) {
		return refusal.New(refusal.Endpoint).Say("Team %s may not use the endpoint %s.", team.ID, to.endpoint)
	}
	return nil
}

// pictures reports whether requests of the route may be for pictures.
func (r *route) pictures() bool {
	return r.creates || r.repeats || r.endpoint == policy.EndpointMultimodal || r.reads.Governed()
}
