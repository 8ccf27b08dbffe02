package simulator

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
		{"refusal", (&refusal{code: "c", message: "m"}).body("id"), `{"code":"c","message":"m","request_id":"id"}`},
		{"success", reply{Output: map[string]int{"n": 1}, RequestID: "id"}, `{"output":{"n":1},"request_id":"id"}`},
		{"failed task", reply{Code: "c", Message: "m", RequestID: "id"}, `{"code":"c","message":"m","request_id":"id"}`},
		{"stream frame", reply{Output: textOutput{Text: "a"}, Usage: struct{}{}, RequestID: "id"},
			`{"output":{"finish_reason":null,"text":"a"},"usage":{},"request_id":"id"}`},
	} {
		var buf bytes.Buffer
		encode(&buf, tt.v)
		if got := buf.String(); got != tt.want+"\n" {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
