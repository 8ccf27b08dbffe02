package meter

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// deltaFrame is a typical frame of a stream.
var deltaFrame = []byte("id:7\nevent:result\n:HTTP_STATUS/200\ndata:" +
	`{"output":{"choices":[{"message":{"content":"three words","role":"assistant"},"finish_reason":"null"}]},` +
	`"usage":{"total_tokens":315,"input_tokens":214,"output_tokens":101},"request_id":"7a2f3c51-6a0e-9d83-8f0b-0d6f1f5f4c1e"}` +
	"\n\n")

// kilobyte is a JSON answer of 1 KB.
var kilobyte = []byte(`{"output":{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"` +
	strings.Repeat("some forty bytes of text and a newline\\n", 18) + `"}}]},"usage":{"total_tokens":315,"input_tokens":214,` +
	`"output_tokens":101,"prompt_tokens_details":{"cached_tokens":0}},"request_id":"7a2f3c51-6a0e-9d83-8f0b-0d6f1f5f4c1e"}`)

func TestAFrameDoesNotAllocate(t *testing.T) {
	for name, body := range recorded(t) {
		r := read(contentType(name), body)
		if r.Frames == 0 || !r.Complete || r.Odd || r.Failed || !bytes.HasSuffix(body, []byte("\n\n")) {
			continue // not a stream that can continue
		}
		m := New("text/event-stream", "")
		_, _ = m.Write(body) // new values in a frame may allocate: an id, the name of a number
		if n := testing.AllocsPerRun(100, func() { _, _ = m.Write(body) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestADocumentAllocatesTwice(t *testing.T) {
	var m Meter
	n := testing.AllocsPerRun(100, func() {
		m.Reset("application/json", "")
		_, _ = m.Write(kilobyte)
		if r := m.End(); !r.Complete {
			t.Fatalf("%+v", r)
		}
	})
	if n > 2 { // the response id and the slice of finish reasons
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkFrame compares, in one run, the Meter's cost per frame with that of the frame's way to a client.
func BenchmarkFrame(b *testing.B) {
	b.Run("meter", func(b *testing.B) {
		m := New("text/event-stream", "")
		b.ReportAllocs()
		for b.Loop() {
			_, _ = m.Write(deltaFrame)
		}
	})
	b.Run("flush", func(b *testing.B) {
		benchmarkFlush(b, deltaFrame)
	})
}

func benchmarkFlush(b *testing.B, frame []byte) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		controller := http.NewResponseController(w)
		for b.Loop() {
			_, _ = w.Write(frame)
			_ = controller.Flush()
		}
	}))
	defer server.Close()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		b.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
}

func BenchmarkDocument(b *testing.B) {
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(kilobyte)))
		for b.Loop() {
			m := New("application/json", "")
			_, _ = m.Write(kilobyte)
			_ = m.End()
		}
	})
	b.Run("reset", func(b *testing.B) {
		var m Meter
		b.ReportAllocs()
		b.SetBytes(int64(len(kilobyte)))
		for b.Loop() {
			m.Reset("application/json", "")
			_, _ = m.Write(kilobyte)
			_ = m.End()
		}
	})
}

// BenchmarkText measures the Meter's speed through one long text, as in frames that repeat it.
func BenchmarkText(b *testing.B) {
	body := []byte(`{"output":{"text":"` + strings.Repeat(`many words and a newline\n`, 40_000) + `"}}`)
	b.SetBytes(int64(len(body)))
	var m Meter
	for b.Loop() {
		m.Reset("", "")
		_, _ = m.Write(body)
	}
}
