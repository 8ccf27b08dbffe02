package pages

import (
	"net/http"
	"net/url"

	"sluice/cache"
	"sluice/gateway/console/access"
	"sluice/gateway/console/figures"
)

type tasksView struct {
	figures.TaskList
	Filter figures.TaskFilter
	States []cache.Status
	More   string
	Any    bool // a filter is set
}

// tasks lists tasks.
func (s *site) tasks(r *http.Request, p access.Person) (view, error) {
	q := r.URL.Query()
	f := figures.TaskFilter{Team: asked(q, "team"), Model: asked(q, "model"), State: q.Get("state"), After: q.Get("after")}
	list, err := s.Figures.TaskList(r.Context(), p, f)
	if err != nil {
		return view{}, err
	}
	v := tasksView{TaskList: list, Filter: f, Any: f.Team+f.Model+f.State != ""}
	v.States = []cache.Status{cache.Pending, cache.Running, cache.Suspended, cache.Succeeded, cache.Failed, cache.Canceled}
	if list.Next != "" {
		v.More = "/tasks?" + url.Values{"team": {f.Team}, "model": {f.Model}, "state": {f.State}, "after": {list.Next}}.Encode()
	}
	return view{page: "tasks", title: "Tasks", data: v, live: f.After == ""}, nil
}
