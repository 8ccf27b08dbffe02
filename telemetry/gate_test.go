package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// stuck is an exporter that waits, and may fail.
type stuck struct {
	release chan struct{}
	err     error
	mu      sync.Mutex
	got     []sdktrace.ReadOnlySpan
}

func (s *stuck) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	<-s.release
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, spans...)
	return s.err
}

func (*stuck) Shutdown(context.Context) error { return nil }

func openStuck(t *testing.T, s *stuck) *Telemetry {
	t.Helper()
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "10")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
	tells, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), Exporter: s})
	if err != nil {
		t.Fatal(err)
	}
	return tells
}

func pageOf(m *Metrics) string {
	page := httptest.NewRecorder()
	m.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	return page.Body.String()
}

func spans(tells *Telemetry, n int) {
	for range n {
		r := Record{Time: time.Now(), Method: "GET", Route: "/r"}
		tells.Traces.Arrive(&r, nil)
		tells.Traces.Leave(&r)
	}
}

// F-T2: of what waits to be sent there is only so much, the newest are lost, and each that is lost is counted: those that
// found no room and those that the collector refused.
func TestFT2Gate(t *testing.T) {
	s := &stuck{release: make(chan struct{}), err: errors.New("refused")}
	tells := openStuck(t, s)
	spans(tells, 35)
	if got := pageOf(tells.Metrics); !strings.Contains(got, `sluice_telemetry_dropped_total{reason="queue",signal="traces"} 25`+"\n") {
		t.Errorf("of 35 spans 10 may wait, but the page says\n%s", got)
	}
	close(s.release)
	_ = tells.Traces.close(t.Context())
	if len(s.got) != 10 {
		t.Errorf("%d spans were sent", len(s.got))
	}
	if n := tells.Traces.gate.refused.Load(); n != 10 {
		t.Errorf("%d are counted as refused, of 10 that were", n)
	}
	if n := tells.Traces.gate.gate.waiting.Load(); n != 0 {
		t.Errorf("%d still wait", n)
	}
	if err := tells.Metrics.close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Close waits for no longer than it is told to.
func TestFT4CloseIsBounded(t *testing.T) {
	s := &stuck{release: make(chan struct{})}
	tells := openStuck(t, s)
	spans(tells, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := tells.Close(ctx); err == nil {
		t.Error("it says that all was sent")
	}
	close(s.release)
}

// What exporters complain of is a line a minute, cut short.
func TestComplaints(t *testing.T) {
	var log strings.Builder
	c := newComplaints(slog.New(slog.NewTextHandler(&log, nil)))
	for range 100 {
		c.Handle(errors.New(strings.Repeat("x", 10_000)))
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || log.Len() > 500 {
		t.Errorf("%d lines, %d bytes", n, log.Len())
	}
}
