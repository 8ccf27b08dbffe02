// Package pages renders the console's pages: Now, Teams, Tasks, Requests, Money, Accounts, Rules, Audit
// and Config.
//
// It renders data from the interfaces in deps.go, and stores no figures. Every page works without a script; a script makes times local and
// replaces the live part of a page by what the server sends. No page has inline code or inline styles. The request's [access.Person]
// decides which teams a page shows.
//
// Charts are SVG from the server: they work without a script, scale to any screen, follow the light and the dark scheme, and each has a
// list of the same figures below it.
package pages

import (
	"embed"
	"net/http"

	"sluice/gateway/console/access"
)

//go:embed assets
var assetFiles embed.FS

// New returns the pages. Every path that is not in the table below gets a 404 page. The request's context must have the person.
func New(deps Deps) http.Handler {
	s, t := &site{Deps: deps, feeds: newFeeds()}, teamPages{deps}
	k := keyPages{t}
	if deps.Crowded != nil {
		s.feeds.crowded = deps.Crowded
	}
	mux := http.NewServeMux()
	for pattern, h := range map[string]handler{
		"GET /{$}":                               home,
		"GET /now":                               s.now,
		"GET /teams":                             t.teams,
		"GET /new-team":                          t.newTeam,
		"POST /teams":                            t.createTeam,
		"GET /teams/{team}":                      t.team,
		"GET /teams/{team}/edit":                 t.editTeam,
		"POST /teams/{team}/edit":                t.changeTeam,
		"POST /teams/{team}/state":               t.setState,
		"POST /teams/{team}/remove":              t.removeTeam,
		"POST /teams/{team}/adjust":              t.adjust,
		"POST /teams/{team}/raises":              t.raise,
		"POST /teams/{team}/raises/{raise}/end":  t.endRaise,
		"POST /teams/{team}/keys":                k.mint,
		"GET /teams/{team}/keys/{key}":           k.show,
		"GET /teams/{team}/keys/{key}/edit":      k.edit,
		"GET /teams/{team}/keys/{key}/start":     k.start,
		"POST /teams/{team}/keys/{key}/edit":     k.change,
		"POST /teams/{team}/keys/{key}/rotate":   k.rotate,
		"POST /teams/{team}/keys/{key}/state":    k.setState,
		"POST /teams/{team}/keys/{key}/remove":   k.remove,
		"GET /tasks":                             s.tasks,
		"GET /teams/{team}/tasks/{task}":         s.task,
		"POST /teams/{team}/tasks/{task}/cancel": s.cancel,
		"GET /requests":                          s.requests,
		"GET /requests/{request}":                s.request,
		"GET /search":                            s.search,
		"GET /latency":                           s.latency,
		"GET /refusals":                          s.refusals,
		"GET /events":                            deliveryPages{deps}.list,
		"GET /money":                             s.money,
		"GET /accounts":                          s.accounts,
		"GET /rules":                             s.rules,
		"GET /audit":                             s.audit,
		"GET /config":                            s.config,
		"/":                                      absent,
	} {
		mux.Handle(pattern, s.serve(h))
	}
	mux.HandleFunc("GET /money.csv", files{deps}.money)
	mux.HandleFunc("GET /focus.csv", files{deps}.bill)
	mux.Handle("GET /assets/", Assets())
	return mux
}

// Assets returns the stylesheet and the scripts, below /assets/. They contain nothing secret: the login page needs them too.
func Assets() http.Handler {
	server := http.FileServerFS(assetFiles)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=300")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		server.ServeHTTP(w, r)
	})
}

func home(*http.Request, access.Person) (view, error) { return view{to: "/now"}, nil }

func absent(*http.Request, access.Person) (view, error) { return view{}, errAbsent }
