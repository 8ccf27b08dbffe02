package pages

import (
	"net/http"
	"net/url"
	"time"

	"sluice/gateway/console"
	"sluice/gateway/console/access"
	"sluice/policy/event"
)

type deliveriesView struct {
	event.Report
	Query  event.Query
	Hooks  []hookRow
	States []event.State
	Any    bool // a filter other than the owner is set
	All    int  // deliveries that match
}

// hookRow is a hook and how long its oldest event waits.
type hookRow struct {
	event.HookReport
	Waits time.Duration // 0: no event waits
}

const (
	shownDeliveries = 200
	shownHooks      = 200
)

// deliveryPages show deliveries.
type deliveryPages struct{ Deps }

// list shows the delay of hooks, and an owner's last deliveries.
func (s deliveryPages) list(r *http.Request, p access.Person) (view, error) {
	q := console.ReadEventQuery(func(name string) string { return asked(r.URL.Query(), name) })
	if q.Owner == "" && p.Role == access.Member && len(p.Teams) == 1 {
		q.Owner = p.Teams[0]
	}
	if q.Owner == "" && q.Event != "" { // the event's id contains its owner
		return view{to: "/search?" + url.Values{"q": {q.Event}}.Encode()}, nil
	}
	found, err := s.Figures.Deliveries(r.Context(), p, q)
	if err != nil {
		return view{}, console.EventProblem(err)
	}
	if q.Owner == "" && q.Hook != "" && len(found.Hooks) == 1 {
		return view{to: deliveriesURL(found.Hooks[0].Owner, q.Hook)}, nil
	}
	v := deliveriesView{Report: found, Query: q, States: event.States, Any: q.Hook != "" || q.State != "" || q.Event != ""}
	for _, h := range found.Hooks[:min(len(found.Hooks), shownHooks)] {
		row := hookRow{HookReport: h}
		if h.Oldest != nil {
			row.Waits = max(s.Now().Sub(*h.Oldest), time.Second)
		}
		v.Hooks = append(v.Hooks, row)
	}
	v.All, v.Data = len(found.Data), found.Data[:min(len(found.Data), shownDeliveries)]
	out := view{page: "deliveries", title: "Deliveries", data: v}
	switch q.Owner {
	case "":
	case event.Operators:
		out.back = &crumb{"Deliveries", "/events"}
	default:
		out.back = &crumb{q.Owner, "/teams/" + url.PathEscape(q.Owner)}
	}
	return out, nil
}

// Late reports whether the oldest event waits so long that it is a fault.
func (h hookRow) Late() bool { return h.Waits >= 5*time.Minute }

func deliveriesURL(owner, hook string) string {
	return "/events?" + url.Values{"team": {owner}, "hook": {hook}}.Encode()
}
