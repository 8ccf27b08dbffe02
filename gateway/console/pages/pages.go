package pages

import (
	"embed"
	"io/fs"
	"net/http"

	"sluice/gateway/console/access"
)

//go:embed assets
var assetFiles embed.FS

// New returns the pages. Their paths are in the table below; every other one is answered by a page of status 404. The person has
// to be in the request's context.
func New(deps Deps) http.Handler {
	s := &site{Deps: deps, feeds: newFeeds()}
	if deps.Crowded != nil {
		s.feeds.crowded = deps.Crowded
	}
	mux := http.NewServeMux()
	for pattern, h := range map[string]handler{
		"GET /{$}":                               home,
		"GET /now":                               s.now,
		"GET /teams":                             s.teams,
		"GET /new-team":                          s.newTeam,
		"POST /teams":                            s.createTeam,
		"GET /teams/{team}":                      s.team,
		"GET /teams/{team}/edit":                 s.editTeam,
		"POST /teams/{team}/edit":                s.changeTeam,
		"POST /teams/{team}/state":               s.setState,
		"POST /teams/{team}/remove":              s.removeTeam,
		"POST /teams/{team}/adjust":              s.adjust,
		"POST /teams/{team}/keys":                s.mint,
		"POST /teams/{team}/keys/{key}/rotate":   s.rotate,
		"POST /teams/{team}/keys/{key}/remove":   s.removeKey,
		"GET /tasks":                             s.tasks,
		"GET /teams/{team}/tasks/{task}":         s.task,
		"POST /teams/{team}/tasks/{task}/cancel": s.cancel,
		"GET /requests":                          s.requests,
		"GET /requests/{request}":                s.request,
		"GET /money":                             s.money,
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
	files, err := fs.Sub(assetFiles, ".")
	if err != nil {
		panic(err) // they are embedded
	}
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=300")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		server.ServeHTTP(w, r)
	})
}

func home(*http.Request, access.Person) (view, error) { return view{to: "/now"}, nil }

func absent(*http.Request, access.Person) (view, error) { return view{}, errAbsent }
