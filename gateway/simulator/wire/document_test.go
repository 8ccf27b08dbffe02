package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/fault"
)

func TestSpoil(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, tt := range []struct {
		name  string
		fault fault.Fault
		frame int
		want  string
	}{
		{"nothing", fault.Fault{}, 0, `{"usage":{"n":1},"request_id":"id"}`},
		{"no usage", fault.Fault{NoUsage: true}, 0, `{"request_id":"id"}`},
		{"no usage wins", fault.Fault{NoUsage: true, Usage: []json.RawMessage{raw(`7`)}}, 0, `{"request_id":"id"}`},
		{"first", fault.Fault{Usage: []json.RawMessage{raw(`7`), raw(`8`)}}, 0, `{"usage":7,"request_id":"id"}`},
		{"second", fault.Fault{Usage: []json.RawMessage{raw(`7`), raw(`8`)}}, 1, `{"usage":8,"request_id":"id"}`},
		{"all later ones", fault.Fault{Usage: []json.RawMessage{raw(`7`), raw(`8`)}}, 9, `{"usage":8,"request_id":"id"}`},
		{"padding", fault.Fault{PadBytes: 3}, 0, `{"usage":{"n":1},"request_id":"id","padding":"xxx"}`},
	} {
		r := answer.Reply{Usage: map[string]int{"n": 1}, RequestID: "id"}
		spoil(&tt.fault, &r, tt.frame)
		var buf bytes.Buffer
		answer.Encode(&buf, r)
		if got := strings.TrimSpace(buf.String()); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestPartial(t *testing.T) {
	none := func(func(answer.Frame) bool) {}
	for _, tt := range []struct {
		name  string
		a     answer.Answer
		fault fault.Fault
		want  bool
	}{
		{"healthy stream", answer.Answer{Frames: none}, fault.Fault{}, false},
		{"cut stream", answer.Answer{Frames: none}, fault.Fault{Cut: "end"}, true},
		{"failing stream", answer.Answer{Frames: none}, fault.Fault{Error: &fault.Error{}}, true},
		{"stalled stream", answer.Answer{Frames: none}, fault.Fault{Stall: "body"}, false},
		{"cut document", answer.Answer{}, fault.Fault{Cut: "close"}, false},
	} {
		if got := partial(tt.a, &tt.fault); got != tt.want {
			t.Errorf("%s: partial %v, want %v", tt.name, got, tt.want)
		}
	}
}
