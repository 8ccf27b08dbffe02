package admin

import (
	"encoding/json"
	"errors"
	"net/http"

	"sluice/policy/event"
	"sluice/policy/teams"
)

// deliveries lists as JSON the deliveries of an owner's events, and how far behind its hooks and the operators' are. file may be nil.
func deliveries(w http.ResponseWriter, r *http.Request, outbox event.Outbox, file func() *teams.File) {
	q := r.URL.Query()
	asked := event.Query{Owner: q.Get("team"), Hook: q.Get("hook"), State: event.State(q.Get("state")), Event: q.Get("event")}
	if asked.Owner == "" {
		http.Error(w, "team: allowed: the id of a team, or "+event.Operators+" for the operators' own hooks", http.StatusBadRequest)
		return
	}
	var hooks []event.Address
	if file != nil {
		if hooks = teams.Hooks(file(), asked.Owner); asked.Owner != event.Operators {
			hooks = append(hooks, teams.Hooks(file(), event.Operators)...)
		}
	}
	list, err := event.Look(r.Context(), outbox, hooks, asked)
	switch {
	case errors.Is(err, event.ErrState):
		http.Error(w, "state: "+err.Error(), http.StatusBadRequest)
	case errors.Is(err, event.ErrID):
		http.Error(w, "event: "+err.Error(), http.StatusBadRequest)
	case err != nil:
		http.Error(w, "the deliveries are not known at the moment", http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}
}
