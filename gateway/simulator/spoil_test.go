package simulator

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestSpoil(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, tt := range []struct {
		name  string
		fault Fault
		frame int
		want  string
	}{
		{"nothing", Fault{}, 0, `{"usage":{"n":1},"request_id":"id"}`},
		{"no usage", Fault{NoUsage: true}, 0, `{"request_id":"id"}`},
		{"no usage wins", Fault{NoUsage: true, Usage: []json.RawMessage{raw(`7`)}}, 0, `{"request_id":"id"}`},
		{"first", Fault{Usage: []json.RawMessage{raw(`7`), raw(`8`)}}, 0, `{"usage":7,"request_id":"id"}`},
		{"second", Fault{Usage: []json.RawMessage{raw(`7`), raw(`8`)}}, 1, `{"usage":8,"request_id":"id"}`},
		{"all later ones", Fault{Usage: []json.RawMessage{raw(`7`), raw(`8`)}}, 9, `{"usage":8,"request_id":"id"}`},
		{"padding", Fault{PadBytes: 3}, 0, `{"usage":{"n":1},"request_id":"id","padding":"xxx"}`},
	} {
		r := reply{Usage: map[string]int{"n": 1}, RequestID: "id"}
		spoil(&tt.fault, &r, tt.frame)
		var buf bytes.Buffer
		encode(&buf, r)
		if got := strings.TrimSpace(buf.String()); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestPartial(t *testing.T) {
	none := func(func(frame) bool) {}
	for _, tt := range []struct {
		name  string
		a     answer
		fault Fault
		want  bool
	}{
		{"healthy stream", answer{frames: none}, Fault{}, false},
		{"cut stream", answer{frames: none}, Fault{Cut: "end"}, true},
		{"failing stream", answer{frames: none}, Fault{Error: &FaultError{}}, true},
		{"stalled stream", answer{frames: none}, Fault{Stall: "body"}, false},
		{"cut document", answer{}, Fault{Cut: "close"}, false},
	} {
		if got := tt.a.partial(&tt.fault); got != tt.want {
			t.Errorf("%s: partial %v, want %v", tt.name, got, tt.want)
		}
	}
}
