package answer

import (
	"bytes"
	"testing"
)

// The service escapes nothing for HTML and has its error code first.
func TestEncode(t *testing.T) {
	for _, tt := range []struct {
		name string
		v    any
		want string
	}{
		{"html", map[string]string{"a": "<b>&</b>"}, `{"a":"<b>&</b>"}`},
		{"Chinese", map[string]string{"a": "水闸"}, `{"a":"水闸"}`},
		{"refusal", (&Refusal{Code: "c", Message: "m"}).Body("id"), `{"code":"c","message":"m","request_id":"id"}`},
		{"success", Reply{Output: map[string]int{"n": 1}, RequestID: "id"}, `{"output":{"n":1},"request_id":"id"}`},
		{"failed task", Reply{Code: "c", Message: "m", RequestID: "id"}, `{"code":"c","message":"m","request_id":"id"}`},
		{"stream frame", Reply{Output: TextOutput{Text: "a"}, Usage: struct{}{}, RequestID: "id"},
			`{"output":{"finish_reason":null,"text":"a"},"usage":{},"request_id":"id"}`},
	} {
		var buf bytes.Buffer
		Encode(&buf, tt.v)
		if got := buf.String(); got != tt.want+"\n" {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
