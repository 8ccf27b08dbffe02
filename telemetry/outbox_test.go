package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	collecttrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// batching keeps how many spans each batch had.
type batching struct {
	keeping
	sizes chan int
}

func (b *batching) UploadTraces(ctx context.Context, sent []*tracepb.ResourceSpans) error {
	b.sizes <- len(written(sent))
	return b.keeping.UploadTraces(ctx, sent)
}

func openBatching(t *testing.T, config Config, delay string) (*Telemetry, *batching) {
	t.Helper()
	t.Setenv(envSpanDelay, delay)
	b := &batching{sizes: make(chan int, 100)}
	config.Logger, config.Client = slog.New(slog.DiscardHandler), b
	tells, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return tells, b
}

// A batch leaves when it is full, the rest at the end, in the order in which spans ended.
func TestBatches(t *testing.T) {
	t.Setenv(envSpanBatch, "4")
	tells, b := openBatching(t, Config{}, "3600000")
	spans(tells, 9)
	if first, second := <-b.sizes, <-b.sizes; first != 4 || second != 4 {
		t.Errorf("batches of %d and %d", first, second)
	}
	if err := tells.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if last := <-b.sizes; last != 1 || len(b.spans) != 9 {
		t.Errorf("%d in the last, %d in all", last, len(b.spans))
	}
	for i := range b.spans[1:] {
		if b.spans[i].GetEndTimeUnixNano() > b.spans[i+1].GetEndTimeUnixNano() {
			t.Errorf("span %d ended after the next", i)
		}
	}
	spans(tells, 1) // after the end
	if n := tells.Traces.outbox.gate.full.Load(); n != 1 {
		t.Errorf("%d are counted as lost, of one that came after the end", n)
	}
}

// A batch that is not full leaves after the delay.
func TestBatchesAfterTheDelay(t *testing.T) {
	tells, b := openBatching(t, Config{}, "1")
	spans(tells, 1)
	if n := <-b.sizes; n != 1 {
		t.Errorf("a batch of %d", n)
	}
	if err := tells.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A span that ends while a batch is sent waits for the delay all the same: it is not sent at once, alone.
func TestBatchesWhileOneIsSent(t *testing.T) {
	o := &outbox{gate: newGate(10), most: 4, wake: make(chan struct{}, 1)}
	o.put([]byte("a"))
	if _, ok := o.next(); ok {
		t.Error("a batch that is not full was sent before its time")
	}
	o.closeAll() // its time has come
	if b, ok := o.next(); !ok || b.n != 1 {
		t.Errorf("%d spans are sent", b.n)
	}
	o.put([]byte("b"))
	if _, ok := o.next(); ok {
		t.Error("what came while a batch was sent follows at once")
	}
	o.closeAll()
	o.closeAll()
	if len(o.full) != 1 {
		t.Errorf("%d batches wait, of one", len(o.full))
	}
}

// A batch is full at a size that collectors take, however few spans it has.
func TestBatchesAreSmall(t *testing.T) {
	tells, b := openBatching(t, Config{Capture: true}, "3600000")
	text := strings.Repeat("a", 8<<10)
	for range 400 {
		var x Exchange
		x.Begin(tells.Traces, nil, About{Operation: OperationChat, Alone: true, Parameters: &Parameters{
			Body: []byte(`{"input":{"messages":[{"role":"system","content":"` + text + `"},{"role":"user","content":"` + text + `"}]}}`),
		}}, time.Now())
		x.Arrived([]byte(`{"output":{"text":"`+text+`"}}`), time.Now())
		x.End(Ended{Status: 200}, time.Now())
	}
	if n := <-b.sizes; n < 50 || n > 200 {
		t.Errorf("a batch of %d", n)
	}
	if err := tells.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// F-T2: from however many goroutines spans come, each is sent once or counted as lost.
func TestFT2EachIsSentOrCounted(t *testing.T) {
	t.Setenv(envSpanBatch, "7")
	t.Setenv(envSpanQueue, "50")
	k := &stuck{release: make(chan struct{})}
	tells, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), Client: k})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { spans(tells, 1000) })
	}
	all.Wait()
	g := tells.Traces.outbox.gate
	lost := g.full.Load()
	close(k.release) // from here on the collector takes what comes
	for range 8 {
		all.Go(func() { spans(tells, 1000) })
	}
	all.Wait()
	if err := tells.Close(t.Context()); err != nil {
		t.Error(err)
	}
	ids := make(map[string]bool)
	for _, s := range k.spans {
		ids[string(s.GetSpanId())] = true
	}
	if lost := int(g.full.Load()); len(ids) != len(k.spans) || len(ids)+lost != 16_000 || len(ids) < 50 || g.waiting.Load() != 0 {
		t.Errorf("%d sent, %d of them once, %d lost, %d wait", len(k.spans), len(ids), lost, g.waiting.Load())
	}
	if lost < 7000 {
		t.Errorf("%d are lost of 8000 that a stuck collector was sent, and 57 may wait", lost)
	}
}

// hanging is a collector that answers when the context ends, as a real one's client does.
type hanging struct{ keeping }

func (*hanging) UploadTraces(ctx context.Context, _ []*tracepb.ResourceSpans) error {
	<-ctx.Done()
	return ctx.Err()
}

// F-T4: a collector that hangs ends the sending after its bound, and the process in time; what it did not take is counted.
func TestFT4ACollectorThatHangs(t *testing.T) {
	t.Setenv(envSpanBatch, "2")
	t.Setenv(envSpanTimeout, "1")
	tells, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), Client: new(hanging)})
	if err != nil {
		t.Fatal(err)
	}
	spans(tells, 5)
	if err := tells.Close(t.Context()); err != nil { // all is given up
		t.Error(err)
	}
	if n := tells.Traces.outbox.gate.refused.Load(); n != 5 {
		t.Errorf("%d are counted as lost, of 5", n)
	}

	t.Setenv(envSpanTimeout, "3600000")
	if tells, err = Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), Client: new(hanging)}); err != nil {
		t.Fatal(err)
	}
	spans(tells, 5)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := tells.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it says %v", err)
	}
	<-tells.Traces.outbox.stopped
	if n := tells.Traces.outbox.gate.refused.Load(); n != 5 {
		t.Errorf("%d are counted as lost, of 5", n)
	}
}

// grpcCollector takes spans over gRPC.
type grpcCollector struct {
	collecttrace.UnimplementedTraceServiceServer
	got chan *tracepb.ResourceSpans
}

func (c *grpcCollector) Export(_ context.Context, r *collecttrace.ExportTraceServiceRequest) (*collecttrace.ExportTraceServiceResponse, error) {
	for _, of := range r.GetResourceSpans() {
		c.got <- of
	}
	return new(collecttrace.ExportTraceServiceResponse), nil
}

// Over gRPC a collector is told the same: who tells, and the spans.
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
	t.Setenv(envProtocol, protocolGRPC)
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
	if len(of.GetSpans()) != 3 || of.GetSpans()[0].GetName() != "GET /r" || of.GetScope().GetName() != scope || of.GetScope().GetVersion() != "v1" {
		t.Errorf("it was told %v", got)
	}
	about := fmt.Sprint(got.GetResource())
	for _, want := range []string{"service.name", "service.version", "service.instance.id", "telemetry.sdk.language", "deployment.environment.name"} {
		if !strings.Contains(about, want) {
			t.Errorf("it was not told %s, but %s", want, about)
		}
	}
}

// On a console a span is a line of JSON.
func TestConsole(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1_800_000_000, 0).UTC()
	tells, err := Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler), Client: console{&out}})
	if err != nil {
		t.Fatal(err)
	}
	r := Record{Time: now, Method: "GET", Route: "/r", Status: 503, Refusal: "forward/unreachable", Duration: time.Second}
	tells.Traces.Arrive(&r, map[string][]string{"Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}})
	tells.Traces.Leave(&r)
	if err := tells.Close(t.Context()); err != nil {
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
	if line.Span != "GET /r" || line.Error != r.Refusal || line.TraceID != r.TraceID || len(line.Links) != 1 ||
		line.Links[0] != "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7" || !line.Start.Equal(now) || !line.End.Equal(now.Add(time.Second)) || line.Attributes["http.response.status_code"] != 503.0 {
		t.Errorf("it says %s", out.String())
	}
}
