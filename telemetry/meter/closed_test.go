package meter

import (
	"bytes"
	"testing"
)

// A stream is closed where a frame ends, and nowhere else, whether or not it has marked its end.
func TestMend05ClosedAtEveryFrame(t *testing.T) {
	body := frames(said("a", "null"), said("b", ""), `{"output":{"text":"c"},"usage":{"total_tokens":3}}`)
	for i := range len(body) + 1 {
		r := read("text/event-stream", body[:i])
		data := bytes.LastIndex(body[:i], []byte("data:{"))
		whole := data >= 0 && bytes.Count(body[data:i], []byte("{")) == bytes.Count(body[data:i], []byte("}"))
		if r.Closed != whole || r.Complete {
			t.Errorf("closed %t and complete %t behind %q", r.Closed, r.Complete, body[:i])
		}
	}
}

func TestMend05ADocumentIsClosedWhenItIsComplete(t *testing.T) {
	for body, want := range map[string]bool{`{"usage":{}}`: true, `{"usage":{}`: false, "": false, "<html>": false} {
		if r := read("application/json", []byte(body)); r.Closed != want || r.Complete != want {
			t.Errorf("%q: closed %t, complete %t", body, r.Closed, r.Complete)
		}
	}
}
