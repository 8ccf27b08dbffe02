package otlp

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

// On a console a span is a line of JSON.
func TestConsole(t *testing.T) {
	var out bytes.Buffer
	start := time.Unix(1_800_000_000, 0).UTC()
	q := NewQueue(console{&out}, resource.Empty(), instrumentation.Scope{})
	link := trace.SpanContextConfig{
		TraceID: trace.TraceID{0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36},
		SpanID:  trace.SpanID{0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7},
	}
	s := q.Write(&Head{
		Span: someSpan, Link: trace.NewSpanContext(link), Name: "GET /r", Start: start, End: start.Add(time.Second), Failed: true, Message: "forward/unreachable",
	})
	s.Int("http.response.status_code", 503)
	q.Put(s)
	if err := q.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var line struct {
		Span, Error string
		TraceID     string `json:"trace_id"`
		Links       []string
		Start, End  time.Time
		Attributes  map[string]any
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if line.Span != "GET /r" || line.Error != "forward/unreachable" || line.TraceID != someSpan.TraceID().String() || len(line.Links) != 1 ||
		line.Links[0] != "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7" || !line.Start.Equal(start) || !line.End.Equal(start.Add(time.Second)) || line.Attributes["http.response.status_code"] != 503.0 {
		t.Errorf("it says %s", out.String())
	}
}
