package api

import "net/http"

// routes are all there are.
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
	{http.MethodDelete, "/teams/{id}/keys/{key}", []string{"reason"}, (*api).endKey},
	{http.MethodGet, "/teams/{id}/usage", []string{"from", "to", "by"}, (*api).usage},
	{http.MethodPost, "/teams/{id}/adjust", nil, (*api).adjust},
	{http.MethodGet, "/teams/{id}/tasks", []string{"state", "model", "cursor", "limit"}, (*api).tasks},
	{http.MethodPost, "/teams/{id}/tasks/{task}/cancel", []string{"reason"}, (*api).cancel},
	{http.MethodGet, "/requests", []string{"team", "status", "refusal", "model", "from", "cursor", "limit"}, (*api).requests},
	{http.MethodGet, "/audit", []string{"team", "cursor", "limit"}, (*api).audit},
}

// New returns the handler of all paths below [Prefix]. The client's address is in RemoteAddr.
func New(deps Deps) http.Handler {
	a := &api{deps}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err := a.serve(w, r, routes); err != nil {
			a.refuse(w, r, err)
		}
	})
}
