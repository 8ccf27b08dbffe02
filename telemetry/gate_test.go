package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// stuck is a collector that waits, and may fail.
type stuck struct {
	keeping
	release chan struct{}
	err     error
}

func (s *stuck) UploadTraces(ctx context.Context, sent []*tracepb.ResourceSpans) error {
	<-s.release
	_ = s.keeping.UploadTraces(ctx, sent)
	return s.err
}

func openStuck(t *testing.T, s *stuck) *Telemetry {
	t.Helper()
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "10")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
	tells, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), Client: s})
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
	if len(s.spans) != 10 {
		t.Errorf("%d spans were sent", len(s.spans))
	}
	if n := tells.Traces.outbox.gate.refused.Load(); n != 10 {
		t.Errorf("%d are counted as refused, of 10 that were", n)
	}
	if n := tells.Traces.outbox.gate.waiting.Load(); n != 0 {
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

// A collector that takes a part of a batch loses the rest alone, and one that only warns loses nothing.
func TestPartialSuccess(t *testing.T) {
	for text, want := range map[string]int64{
		"traces export: OTLP partial success: too old (1 spans rejected)":                  1,
		"logs export: OTLP partial success: too (many (1 logs rejected) (7 logs rejected)": 7,
		"OTLP partial success: two\nlines (3 spans rejected)":                              3,
		"OTLP partial success: a warning (0 spans rejected)":                               0,
		"OTLP partial success: more than there were (99 spans rejected)":                   10,
		"OTLP partial success: (99999999999999999999 spans rejected)":                      10,
		"context deadline exceeded":                                                        10,
	} {
		if got := rejected(errors.New(text), 10); got != want {
			t.Errorf("%s: %d are lost, want %d", text, got, want)
		}
	}
}

// F-T2: what waits for a collector that hangs takes no more than 32 MiB, however large each span is.
func TestFT2MemoryIsBounded(t *testing.T) {
	s := &stuck{release: make(chan struct{})}
	tells, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), Client: s, Capture: true})
	if err != nil {
		t.Fatal(err)
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range 3 * defaultQueue {
		text := strings.Repeat("a", 8<<10)
		r := Record{Time: time.Now(), Method: "POST", Route: "/r", Model: text, Task: text}
		tells.Traces.Arrive(&r, nil)
		var x Exchange
		x.Begin(tells.Traces, nil, About{Operation: OperationChat, Model: text, Parent: r.Span, Parameters: &Parameters{
			Body: []byte(`{"input":{"messages":[{"role":"system","content":"` + text + `"},{"role":"user","content":"` + text + `"}]}}`),
		}}, r.Time)
		x.Arrived([]byte(`{"output":{"text":"`+text+`"}}`), r.Time)
		x.End(Ended{Status: 200}, r.Time)
		tells.Traces.Leave(&r)
	}
	if grew := int64(heap()) - int64(before); grew > 32<<20 {
		t.Errorf("%d MiB wait to be sent", grew>>20)
	}
	if tells.Traces.outbox.gate.full.Load() == 0 {
		t.Error("all that was sent found room")
	}
	close(s.release)
	if err := tells.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// What an event quotes may be anything, and wherever it stands in the event.
func TestMend30AnEventIsMadeValid(t *testing.T) {
	exporter := new(keptLogs)
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(newLogGate(newGate(10), exporter)))
	log := slog.New(otelslog.NewHandler(scope, otelslog.WithLoggerProvider(provider)))
	log.With("with\xff", 1).Info("said \xff", "error", errors.New("\xff"), "list", []string{"a\xff"}, slog.Group("g\xff", "k\xff", "v\xff"), "number", 7)
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(exporter.texts, " "); !utf8.ValidString(text) || strings.Count(text, "\ufffd") != 7 || !strings.Contains(text, "number 7") {
		t.Errorf("sent is %q", text)
	}
}

// keptLogs keeps what it is sent, as text.
type keptLogs struct{ texts []string }

func (k *keptLogs) Export(_ context.Context, records []sdklog.Record) error {
	for i := range records {
		k.texts = append(k.texts, records[i].Body().AsString())
		for kv := range records[i].WalkAttributes {
			k.texts = append(k.texts, string(kv.Key)+" "+fmt.Sprint(kv.Value.AsInterface()))
		}
	}
	return nil
}

func (*keptLogs) Shutdown(context.Context) error   { return nil }
func (*keptLogs) ForceFlush(context.Context) error { return nil }
