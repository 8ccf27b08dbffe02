package simulator

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// refusalOf sends a body in process and returns the message of the refusal,
// empty if there is none.
func refusalOf(t *testing.T, s *Simulator, path, body string, header ...string) string {
	t.Helper()
	w := serveOnce(s, path, body, header...)
	data := w.Body.Bytes()
	if _, frame, ok := bytes.Cut(data, []byte("event:error")); ok {
		_, data, _ = bytes.Cut(frame, []byte("data:"))
	} else if w.Code == 200 {
		return ""
	}
	var e struct{ Code, Message string }
	if err := json.Unmarshal(data, &e); err != nil || e.Message == "" {
		t.Fatalf("refusal is no error: %s", w.Body)
	}
	return e.Code + " " + e.Message
}

// verdict is one row of a rule table: a change to a request and the text of its refusal, empty if it passes.
type verdict struct {
	name, change, refusal string
}

// judge plays a rule table on a path.
func judge(t *testing.T, s *Simulator, path string, request func(string) string, header []string, table []verdict) {
	t.Helper()
	for _, v := range table {
		t.Run(v.name, func(t *testing.T) {
			said := refusalOf(t, s, path, request(v.change), header...)
			if (said == "") != (v.refusal == "") || !strings.Contains(said, v.refusal) {
				t.Errorf("%s\nsaid %q, want %q", v.change, said, v.refusal)
			}
		})
	}
}
