package admin

import (
	"encoding/json"
	"net/http"
	"time"

	"sluice/policy/event"
)

// mostDeliveries is how many deliveries /events lists.
const mostDeliveries = 1000

// delivery is an event on its way to a hook, as /events lists it: never its data or an answer's text.
type delivery struct {
	Event string      `json:"event"`
	Type  event.Type  `json:"type"`
	Time  time.Time   `json:"time"`
	Team  string      `json:"team,omitempty"`
	Owner string      `json:"owner"` // of the hook
	Hook  string      `json:"hook"`
	Path  string      `json:"path,omitempty"` // of a callback
	State event.State `json:"state"`
	Tries int         `json:"tries"`
	Code  int         `json:"last_status,omitempty"`
	Last  *time.Time  `json:"last_try,omitempty"`
	Next  *time.Time  `json:"next_try,omitempty"`
}

// listDeliveries returns what lists an outbox's deliveries as JSON.
func listDeliveries(outbox event.Outbox) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		owner := r.URL.Query().Get("team")
		if owner == "" {
			http.Error(w, "team: allowed: the id of a team, or "+event.Operators+" for the operators' own hooks", http.StatusBadRequest)
			return
		}
		list, err := outbox.Deliveries(r.Context(), owner, mostDeliveries)
		if err != nil {
			http.Error(w, "the deliveries are not known at the moment", http.StatusServiceUnavailable)
			return
		}
		shown := make([]delivery, len(list))
		for i := range list {
			shown[i] = deliveryOf(&list[i])
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(struct {
			Deliveries []delivery `json:"deliveries"`
		}{shown})
	}
}

func deliveryOf(d *event.Delivery) delivery {
	at := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return new(t.UTC())
	}
	shown := delivery{
		Event: d.Event.ID.String(), Type: d.Event.Type, Time: d.Event.Time.UTC(), Team: d.Event.Team, Owner: d.To.Owner, Hook: d.To.Hook, Path: d.Path,
		State: d.State, Tries: d.Tries, Code: d.Code, Last: at(d.Last), Next: at(d.Next),
	}
	if event.OfOperators(shown.Team) {
		shown.Team = ""
	}
	return shown
}
