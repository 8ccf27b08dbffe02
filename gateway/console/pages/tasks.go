package pages

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"sluice/cache"
	"sluice/gateway/console/access"
	"sluice/gateway/console/chart"
	"sluice/gateway/console/figures"
	"sluice/policy/unit"
)

type tasksView struct {
	figures.TaskList
	Filter figures.TaskFilter
	States []cache.Status
	More   string
	Any    bool   // a filter is set
	Age    string // that a task has at least; empty: any
	At     time.Time
	Times  []latencyLine
}

// tasks lists tasks.
func (s *site) tasks(r *http.Request, p access.Person) (view, error) {
	q := r.URL.Query()
	f := figures.TaskFilter{Team: asked(q, "team"), Model: asked(q, "model"), State: q.Get("state"), After: q.Get("after")}
	f.Age, _ = time.ParseDuration(q.Get("age")) // else any
	list, err := s.Figures.TaskList(r.Context(), p, f)
	if err != nil {
		return view{}, err
	}
	v := tasksView{
		TaskList: list, Filter: f, Any: f.Team+f.Model+f.State != "" || f.Age > 0, Age: q.Get("age"), At: s.Deps.Now(),
		Times: s.taskTimes(r, p),
	}
	v.States = []cache.Status{figures.OpenTasks, cache.Pending, cache.Running, cache.Suspended, cache.Succeeded, cache.Failed, cache.Canceled}
	if list.Next != "" {
		v.More = "/tasks?" + url.Values{"team": {f.Team}, "model": {f.Model}, "state": {f.State}, "age": {v.Age}, "after": {list.Next}}.Encode()
	}
	return view{page: "tasks", title: "Tasks", data: v, live: f.After == ""}, nil
}

type taskView struct {
	figures.Task
	Line       []chart.Segment
	Queue, Run time.Duration // 0: not known
	At         time.Time
	Amounts    []amountRow
	Pictures   []string
	Trace      string
	Cancels    bool
}

// amountRow is a task's hold and cost in one unit.
type amountRow struct {
	Unit       unit.Name
	Held, Cost int64
}

// task shows the life of one task.
func (s *site) task(r *http.Request, p access.Person) (view, error) {
	t, err := s.Figures.Task(r.Context(), p, r.PathValue("team"), r.PathValue("task"))
	if err != nil {
		return view{}, err
	}
	v := taskView{Task: t, At: s.Deps.Now(), Cancels: t.Open && cancels(p, t.Team), Trace: traceURL(s.TraceURL, t.TraceID)}
	v.life()
	for i, unit := range unit.Names {
		if t.Held[i] != 0 || t.Cost[i] != 0 {
			v.Amounts = append(v.Amounts, amountRow{unit, t.Held[i], t.Cost[i]})
		}
	}
	out := view{page: "task", title: "Task " + t.ID, live: t.Open, back: &crumb{"Tasks", "/tasks"}}
	out.undone = map[bool][]string{false: {"canceled"}}[t.Open]
	for _, address := range t.Pictures {
		if origin := originOf(address); origin != "" {
			v.Pictures = append(v.Pictures, address)
			out.sources = append(out.sources, origin)
		}
	}
	out.data = v
	return out, nil
}

// life computes the timeline: created, begun, ended. An open task lasts until now.
func (v *taskView) life() {
	end := v.Ended
	if v.Open {
		end = v.At
	}
	made := v.Submitted
	if made.IsZero() {
		made = v.Created
	}
	begun := v.Begun
	waits := v.State == string(cache.Pending) || v.State == string(cache.Canceled) // the service cancels only waiting tasks
	if begun.IsZero() && !waits && !v.Open {
		begun = made
	}
	v.Line = chart.Timeline([]time.Time{made, begun, end}, "e", "a")
	switch {
	case begun.IsZero() && !end.IsZero():
		v.Queue = end.Sub(made)
		v.Line = chart.Timeline([]time.Time{made, end}, "e")
	case !begun.IsZero():
		v.Queue = begun.Sub(made)
		if !end.IsZero() {
			v.Run = end.Sub(begun)
		}
	}
}

// traceURL returns the address of a trace; empty: none.
func traceURL(template, id string) string {
	if template == "" || id == "" {
		return ""
	}
	return strings.ReplaceAll(template, "{trace}", url.QueryEscape(id))
}

var plainHost = regexp.MustCompile(`^[a-zA-Z0-9.-]+(:[0-9]+)?$`)

// originOf returns the origin of a picture's address; empty: not a valid address.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || !plainHost.MatchString(u.Host) {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// cancels reports whether a person may cancel tasks of a team: its members may, and operators.
func cancels(p access.Person, team string) bool {
	return p.Changes() || p.Role == access.Member && p.Sees(team)
}

// cancel asks the service to cancel a task.
func (s *site) cancel(r *http.Request, p access.Person) (view, error) {
	team, id := r.PathValue("team"), r.PathValue("task")
	switch {
	case !p.Sees(team):
		return view{}, errAbsent
	case !cancels(p, team):
		return view{}, errForbidden
	}
	if err := s.Teams.Cancel(r.Context(), actor(r, p), team, id); err != nil {
		return view{}, err
	}
	return view{to: taskURL(team, id) + "?done=canceled"}, nil
}

// taskURL returns the address of a task's page.
func taskURL(team, id string) string {
	return "/teams/" + url.PathEscape(team) + "/tasks/" + url.PathEscape(id)
}
