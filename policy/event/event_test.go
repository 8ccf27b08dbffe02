package event_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/policy/event"
)

// An id is read back, sorts by its place, and is none of another owner.
func TestIDsAreReadBack(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	place := func() event.ID {
		return event.ID{Owner: "search", Millis: random.Int64N(1 << 48), Number: uint16(random.Uint32())}
	}
	for range 1000 {
		a, b := place(), place()
		got, err := event.ParseID(a.String(), "search")
		if err != nil || got != a {
			t.Fatalf("%v: %v, %v", a, got, err)
		}
		if a.Before(b) != (a.String() < b.String()) {
			t.Errorf("%v %v", a, b)
		}
		if _, err := event.ParseID(a.String(), "shop"); err != event.ErrID {
			t.Errorf("an id of another: %v", err)
		}
	}
	if got := (event.ID{Owner: "search", Millis: 1764172800000, Number: 7}).String(); got != "evt_01KB0E9800003J869JJ1KR4F5B" {
		t.Error(got)
	}
	for _, text := range []string{"", "evt_", "01KB0E9800003J869JJ1KR4F5B", "evt_81KB0E9800003J869JJ1KR4F5B",
		"evt_01KB0E9800003J869JJ1KR4F5U"} {
		if _, err := event.ParseID(text, "search"); err != event.ErrID {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// An event has one form, the same at each try.
func TestAnEventHasOneForm(t *testing.T) {
	e := event.Event{
		ID: event.ID{Owner: "search", Millis: 1764172800000}, Type: event.TaskSucceeded, Time: time.UnixMilli(1764172800000), Team: "search",
		Data: json.RawMessage(`{"task_id":"t1"}`),
	}
	want := `{"id":"` + e.ID.String() + `","type":"task.succeeded","timestamp":"2025-11-26T16:00:00.000Z","team":"search",` +
		`"data":{"task_id":"t1"}}`
	if got := string(e.Bytes()); got != want || !json.Valid([]byte(got)) {
		t.Error(got)
	}
	e.Team = event.Operators
	if got := string(e.Bytes()); got != `{"id":"`+e.ID.String()+
		`","type":"task.succeeded","timestamp":"2025-11-26T16:00:00.000Z","data":{"task_id":"t1"}}` {
		t.Error(got)
	}
}

func TestPatternsSelectTypes(t *testing.T) {
	for _, tt := range []struct {
		pattern event.Pattern
		of      event.Type
		want    bool
	}{
		{"*", event.TaskFailed, true},
		{"task.*", event.TaskFailed, true},
		{"task.failed", event.TaskFailed, true},
		{"task.failed", event.TaskSucceeded, false},
		{"quota.*", event.TaskFailed, false},
		{"*", event.RequestSettled, false},
		{"request.*", event.RequestSettled, false},
		{"request.settled", event.RequestSettled, true},
	} {
		if got := tt.pattern.Matches(tt.of); got != tt.want {
			t.Errorf("%s and %s: %v", tt.pattern, tt.of, got)
		}
	}
}
