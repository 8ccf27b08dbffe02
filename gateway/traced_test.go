package gateway_test

import (
	"context"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"sluice/telemetry"
)

// spanSink keeps the spans that are sent.
type spanSink struct {
	mu    sync.Mutex
	spans []sdktrace.ReadOnlySpan
	send  func() error // sends what waits, and ends the telemetry
}

func (s *spanSink) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spans = append(s.spans, spans...)
	return nil
}

func (*spanSink) Shutdown(context.Context) error { return nil }

// traced makes the telemetry of a house: every request of every test is recorded, and at the test's end no span may be
// left that was begun and not ended.
func traced(t testing.TB, config telemetry.Config) (*telemetry.Telemetry, *spanSink) {
	t.Helper()
	sink := new(spanSink)
	config.Logger, config.Exporter = discard(), sink
	tells, err := telemetry.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	sink.send = sync.OnceValue(func() error { return tells.Close(context.Background()) })
	t.Cleanup(func() {
		end := time.Now().Add(5 * time.Second)
		for tells.Traces.Unended() != 0 && time.Now().Before(end) {
			<-time.After(time.Millisecond) // a server's Close does not wait for handlers whose clients reset their streams
		}
		if n := tells.Traces.Unended(); n != 0 {
			t.Errorf("%d spans were begun and not ended", n)
		}
		if err := sink.send(); err != nil {
			t.Error(err)
		}
	})
	return tells, sink
}
