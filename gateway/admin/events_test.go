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
	"sluice/policy/teams"
)

// box is an outbox that has deliveries alone.
type box struct {
	event.Outbox
	list func(owner string) ([]event.Delivery, error)
}

func (b box) Deliveries(_ context.Context, owner string, _ event.ID, _ int) ([]event.Delivery, error) {
	return b.list(owner)
}

func (box) Oldest(_ context.Context, hooks []event.Address) (map[event.Address]time.Time, error) {
	return map[event.Address]time.Time{hooks[0]: time.UnixMilli(1764172800000)}, nil
}

// Ended has the operators' hook ops.
func (box) Ended(context.Context) (map[event.Address]event.HookEnd, error) {
	return map[event.Address]event.HookEnd{{Owner: event.Operators, Hook: "ops"}: {Mark: "m", At: time.UnixMilli(1764259200000)}}, nil
}

// Deliveries are listed with their tries, and without what the event says.
func TestDeliveriesAreListed(t *testing.T) {
	at := time.UnixMilli(1764172800000).UTC()
	e := event.Event{ID: event.ID{Owner: "search", Millis: at.UnixMilli()}, Type: event.TaskFailed, Time: at, Team: "search",
		Data: []byte(`"CANARY"`)}
	file, err := teams.Parse([]byte("teams: [{id: search, keys: [{id: 7f3k9q2m4x1c, sha256: \"" + strings.Repeat("0a", 32) +
		"\"}], hooks: [{id: jobs, url: \"https://a.example\", events: [\"*\"], secret_file: s}]}, {id: shop}, {id: away}]\n" +
		"hooks: [{id: ops, url: \"https://a.example\", events: [\"*\"], kind: slack}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	deps := admin.Deps{Teams: func() *teams.File { return file }, Outbox: box{list: func(owner string) ([]event.Delivery, error) {
		if owner == "away" {
			return nil, errors.New("CANARY")
		}
		if owner != "search" {
			return nil, nil
		}
		return []event.Delivery{
			{Event: e, To: event.Address{Owner: "search", Hook: "jobs"}, Path: "shots/42", State: event.Waiting, Tries: 1, Code: 503, Last: at,
				Next: at.Add(5 * time.Second)},
			{Event: e, To: event.Address{Owner: event.Operators, Hook: "ops"}, State: event.Waiting},
		}, nil
	}}}
	for query, want := range map[string]string{
		"?team=search": `200 {"hooks":[{"owner":"@operators","hook":"ops","oldest":null,"ended":"2025-11-27T16:00:00Z"},` +
			`{"owner":"search","hook":"jobs","oldest":"2025-11-26T16:00:00Z","ended":null}],"data":[` +
			`{"event":"` + e.ID.String() + `","type":"task.failed","time":"2025-11-26T16:00:00Z","team":"search",` +
			`"owner":"search","hook":"jobs","path":"shots/42","state":"waiting","tries":1,"last_status":503,` +
			`"last_try":"2025-11-26T16:00:00Z","next_try":"2025-11-26T16:00:05Z"},` +
			`{"event":"` + e.ID.String() + `","type":"task.failed","time":"2025-11-26T16:00:00Z","team":"search","owner":"@operators",` +
			`"hook":"ops","state":"waiting","tries":0}]}`,
		"?team=search&hook=ops&state=waiting": `200 {"hooks":[{"owner":"@operators","hook":"ops","oldest":"2025-11-26T16:00:00Z",` +
			`"ended":"2025-11-27T16:00:00Z"}],"data":[` +
			`{"event":"` + e.ID.String() + `","type":"task.failed","time":"2025-11-26T16:00:00Z","team":"search","owner":"@operators",` +
			`"hook":"ops","state":"waiting","tries":0}]}`,
		"?team=search&state=delivered&event=" + e.ID.String(): `200 {"hooks":[{"owner":"@operators","hook":"ops","oldest":null,` +
			`"ended":"2025-11-27T16:00:00Z"},{"owner":"search","hook":"jobs","oldest":"2025-11-26T16:00:00Z","ended":null}],"data":[]}`,
		"?team=shop&event=" + e.ID.String(): `400 event: not an id of an event of this team`,
		"?team=shop&state=late":             `400 state: allowed: waiting, delivered or given_up`,
		"?team=shop": `200 {"hooks":[{"owner":"@operators","hook":"ops","oldest":"2025-11-26T16:00:00Z",` +
			`"ended":"2025-11-27T16:00:00Z"}],"data":[]}`,
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
