package admin_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/gateway/admin"
	"sluice/policy/event"
)

// box is an outbox that has deliveries alone.
type box struct {
	event.Outbox
	list func(ctx context.Context, owner string, most int) ([]event.Delivery, error)
}

func (b box) Deliveries(ctx context.Context, owner string, most int) ([]event.Delivery, error) {
	return b.list(ctx, owner, most)
}

// Deliveries are listed with their tries, and without what the event says.
func TestDeliveriesAreListed(t *testing.T) {
	at := time.UnixMilli(1764172800000).UTC()
	e := event.Event{ID: event.ID{Owner: "search", Millis: at.UnixMilli()}, Type: event.TaskFailed, Time: at, Team: "search", Data: []byte(`"CANARY"`)}
	deps := admin.Deps{Outbox: box{list: func(_ context.Context, owner string, _ int) ([]event.Delivery, error) {
		if owner == "away" {
			return nil, errors.New("CANARY")
		}
		if owner != "search" {
			return nil, nil
		}
		return []event.Delivery{
			{Event: e, To: event.Address{Owner: "search", Hook: "jobs"}, Path: "shots/42", State: event.Waiting, Tries: 1, Code: 503, Last: at, Next: at.Add(5 * time.Second)},
			{Event: e, To: event.Address{Owner: event.Operators, Hook: "ops"}, State: event.Waiting},
		}, nil
	}}}
	for query, want := range map[string]string{
		"?team=search": `200 {"deliveries":[{"event":"` + e.ID.String() + `","type":"task.failed","time":"2025-11-26T16:00:00Z","team":"search","owner":"search","hook":"jobs","path":"shots/42",` +
			`"state":"waiting","tries":1,"last_status":503,"last_try":"2025-11-26T16:00:00Z","next_try":"2025-11-26T16:00:05Z"},` +
			`{"event":"` + e.ID.String() + `","type":"task.failed","time":"2025-11-26T16:00:00Z","team":"search","owner":"@operators","hook":"ops","state":"waiting","tries":0}]}`,
		"?team=shop": `200 {"deliveries":[]}`,
		"?team=away": `503 the deliveries are not known at the moment`,
		"":           `400 team: allowed: the id of a team, or @operators for the operators' own hooks`,
	} {
		w := httptest.NewRecorder()
		admin.New(deps).ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/events"+query, nil))
		if got := strings.TrimSpace(w.Result().Status[:3] + " " + w.Body.String()); got != want || strings.Contains(got, "CANARY") {
			t.Errorf("%q:\n%s, want\n%s", query, got, want)
		}
	}
	w := httptest.NewRecorder()
	admin.New(admin.Deps{}).ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/events?team=search", nil))
	if w.Code != 404 {
		t.Errorf("without an outbox: %d", w.Code)
	}
}
