package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collecttrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// collector keeps the spans that it receives.
type collector struct {
	release chan struct{} // a call waits until it is closed, or for its context; nil: it does not wait
	err     error         // that it returns

	mu      sync.Mutex
	spans   []*tracepb.Span
	batches []int // the spans in each call
}

func (*collector) Start(context.Context) error { return nil }
func (*collector) Stop(context.Context) error  { return nil }

func (c *collector) UploadTraces(ctx context.Context, sent []*tracepb.ResourceSpans) error {
	if c.release != nil {
		select {
		case <-c.release:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.spans)
	for _, r := range sent {
		for _, scope := range r.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
	c.batches = append(c.batches, len(c.spans)-before)
	return c.err
}

// filled is a queue with a tracer that fills it.
type filled struct {
	*spanQueue
	trace.Tracer
}

func newFilled(t *testing.T, c *collector, batch string) filled {
	t.Helper()
	t.Setenv(envSpanBatch, batch)
	q := newSpanQueue(otlptrace.NewUnstarted(c))
	return filled{q, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(q)).Tracer(scope)}
}

// put puts n spans into the queue, as far as it has room.
func (q filled) put(n int) {
	for range n {
		_, span := q.Start(context.Background(), "GET /r", trace.WithAttributes(attribute.String("a", strings.Repeat("a", 64))))
		span.End()
	}
}

// counts are the spans that were lost and that wait, as the gate has them.
func (q filled) counts() string {
	return fmt.Sprintf("%d full, %d refused, %d wait", q.gate.full.Load(), q.gate.refused.Load(), q.gate.waiting.Load())
}

// A batch leaves when it is full, the rest at the end or after the delay, in the order in which spans ended. By default it has so few
// spans that collectors accept it: TestSpansAreSmall bounds each.
func TestBatches(t *testing.T) {
	for batch, want := range map[string]string{"4": "[4 4 1]", "": "[9]", "no number": "[9]"} {
		c := new(collector)
		q := newFilled(t, c, batch)
		q.put(9)
		if err := q.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := fmt.Sprint(c.batches); got != want {
			t.Errorf("batches of %s, want %s", got, want)
		}
		for i := range c.spans[1:] {
			if c.spans[i].GetEndTimeUnixNano() > c.spans[i+1].GetEndTimeUnixNano() {
				t.Errorf("span %d ended after the next", i)
			}
		}
		q.put(1) // after the end
		if got := q.counts(); got != "1 full, 0 refused, 0 wait" {
			t.Errorf("after the end: %s", got)
		}
	}
	if defaultBatch*(16<<10) > 4<<20 {
		t.Error("a batch may be more than collectors take")
	}
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	c := &collector{release: make(chan struct{})}
	q := newFilled(t, c, "")
	q.put(1)
	c.release <- struct{}{} // the batch is sent, although it is not full
	if err := q.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// However many goroutines send spans, each is sent once or counted as lost.
func TestEachIsSentOrCounted(t *testing.T) {
	t.Setenv(envSpanQueue, "50")
	c := &collector{release: make(chan struct{})}
	q := newFilled(t, c, "7")
	putAll := func() {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { q.put(1000) })
		}
		all.Wait()
	}
	putAll()
	if q.gate.full.Load() < 7000 {
		t.Errorf("of 8000 for a collector that waits: %s", q.counts())
	}
	close(c.release) // from here on it accepts everything
	putAll()
	if err := q.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	ids := make(map[string]bool)
	for _, s := range c.spans {
		ids[string(s.GetSpanId())] = true
	}
	if lost := int(q.gate.full.Load()); len(ids) != len(c.spans) || len(ids)+lost != 16_000 || len(ids) < 50 || q.gate.waiting.Load() != 0 {
		t.Errorf("%d sent, %d of them once; %s", len(c.spans), len(ids), q.counts())
	}
}

// A collector that hangs ends the sending after its bound, and the process in time; spans that it did not accept are counted.
func TestACollectorThatHangs(t *testing.T) {
	for timeout, want := range map[string]error{"1": nil, "3600000": context.DeadlineExceeded} {
		t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", timeout)
		q := newFilled(t, &collector{release: make(chan struct{})}, "2")
		q.put(5)
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		if want != nil {
			ctx, cancel = context.WithTimeout(ctx, 10*time.Millisecond)
		}
		if err := q.Shutdown(ctx); !errors.Is(err, want) {
			t.Errorf("it says %v, want %v", err, want)
		}
		cancel()
		const all = "0 full, 5 refused, 0 wait"
		for begun := time.Now(); q.counts() != all && time.Since(begun) < 20*time.Second; { // they are given up concurrently, and then counted
			runtime.Gosched()
		}
		if got := q.counts(); got != all {
			t.Errorf("of 5: %s", got)
		}
	}
}

// A collector that accepts a part of a batch loses only the rest, and one that only warns loses nothing.
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

// grpcCollector receives spans over gRPC.
type grpcCollector struct {
	collecttrace.UnimplementedTraceServiceServer
	got chan *tracepb.ResourceSpans
}

func (c *grpcCollector) Export(_ context.Context, r *collecttrace.ExportTraceServiceRequest) (*collecttrace.ExportTraceServiceResponse,
	error) {
	for _, of := range r.GetResourceSpans() {
		c.got <- of
	}
	return new(collecttrace.ExportTraceServiceResponse), nil
}

// Over gRPC a collector receives the same: the resource and the spans.
func TestGRPC(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	collector, server := &grpcCollector{got: make(chan *tracepb.ResourceSpans, 1)}, grpc.NewServer()
	collecttrace.RegisterTraceServiceServer(server, collector)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://"+listener.Addr().String())
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocolGRPC)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=dev")
	tells, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	spans(tells, 3)
	if err := tells.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := <-collector.got
	of := got.GetScopeSpans()[0]
	if len(of.GetSpans()) != 3 || of.GetSpans()[0].GetName() != "GET /r" || of.GetScope().GetName() != "sluice" ||
		of.GetScope().GetVersion() != "v1" {
		t.Errorf("it received %v", got)
	}
	about := fmt.Sprint(got.GetResource())
	for _, want := range []string{"service.name", "service.version", "service.instance.id", "telemetry.sdk.language",
		"deployment.environment.name"} {
		if !strings.Contains(about, want) {
			t.Errorf("%s is missing in %s", want, about)
		}
	}
}

// Complaints of exporters are one line a minute, cut short.
func TestComplaints(t *testing.T) {
	var log strings.Builder
	c := newExportErrors(slog.New(slog.NewTextHandler(&log, nil)))
	for range 100 {
		c.Handle(errors.New(strings.Repeat("x", 10_000)))
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || log.Len() > 500 {
		t.Errorf("%d lines, %d bytes", n, log.Len())
	}
}

// Any text may be quoted in an event, at any place.
func TestAnEventIsMadeValid(t *testing.T) {
	exporter := new(keptLogs)
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(newLogQueue(exporter)))
	log := slog.New(otelslog.NewHandler("sluice", otelslog.WithLoggerProvider(provider)))
	log.With("with\xff", 1).Info("said \xff", "error", errors.New("\xff"), "list", []string{"a\xff"}, slog.Group("g\xff", "k\xff", "v\xff"),
		"number", 7)
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(exporter.texts, " "); !utf8.ValidString(text) || strings.Count(text, "\ufffd") != 7 ||
		!strings.Contains(text, "number 7") {
		t.Errorf("sent is %q", text)
	}
}

// keptLogs keeps the records that it receives, as text.
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
