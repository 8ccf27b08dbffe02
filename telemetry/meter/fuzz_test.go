package meter

import (
	"bytes"
	"testing"

	"sluice/policy/strictjson"
)

// FuzzSSEUsage checks that the places where a body is cut do not change its Reading, and that the Reading is sane.
func FuzzSSEUsage(f *testing.F) {
	for name, body := range recorded(f) {
		f.Add(body, uint16(len(body)/2), uint16(1), contentType(name) != "application/json")
	}
	f.Fuzz(func(t *testing.T, body []byte, first, second uint16, stream bool) {
		contentType := "application/json"
		if stream {
			contentType = "text/event-stream"
		}
		want := read(contentType, body)
		a := min(int(first), len(body))
		b := min(a+int(second), len(body))
		same(t, "three pieces", want, read(contentType, body[:a], body[a:b], body[b:]))
		same(t, "every byte alone", want, read(contentType, eachByte(body)...))
		sane(t, want, len(body))
		again := bytes.Repeat(body, 3) // frames seen before may be read by another path
		same(t, "again", read(contentType, again), read(contentType, eachByte(again)...))
	})
}

func sane(t *testing.T, r Reading, length int) {
	t.Helper()
	for name, n := range r.Usage.All() {
		if n < 0 || n > maxNumber || len(name) > maxPath {
			t.Errorf("%q is %v", name, n)
		}
	}
	if r.TextBytes < 0 || r.TextBytes > length || r.TextBytes > 0 && !r.Content {
		t.Errorf("%d bytes of text in a body of %d, content %t", r.TextBytes, length, r.Content)
	}
	if r.Opaque && (r.Complete || r.Usage.Known()) {
		t.Errorf("opaque, yet %+v", r)
	}
	if len(r.ErrorMessage) > strictjson.MaxToken || len(r.FinishReasons) > proseSlots {
		t.Errorf("%+v", r)
	}
}
