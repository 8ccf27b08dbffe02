package otlp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collecttrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// keeping keeps the spans that it receives, as a collector reads them.
type keeping struct {
	mu    sync.Mutex
	spans []*tracepb.Span
}

func spansIn(sent []*tracepb.ResourceSpans) (spans []*tracepb.Span) {
	for _, r := range sent {
		for _, scope := range r.GetScopeSpans() {
			spans = append(spans, scope.GetSpans()...)
		}
	}
	return spans
}

func (*keeping) Start(context.Context) error { return nil }
func (*keeping) Stop(context.Context) error  { return nil }

func (k *keeping) UploadTraces(_ context.Context, sent []*tracepb.ResourceSpans) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spans = append(k.spans, spansIn(sent)...)
	return nil
}

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

// batching records the number of spans in each batch.
type batching struct {
	keeping
	sizes chan int
}

func (b *batching) UploadTraces(ctx context.Context, sent []*tracepb.ResourceSpans) error {
	b.sizes <- len(spansIn(sent))
	return b.keeping.UploadTraces(ctx, sent)
}

// queue is Spans with a tracer that fills them.
type queue struct {
	*Spans
	trace.Tracer
}

func newQueue(client otlptrace.Client) queue {
	return queueOf(otlptrace.NewUnstarted(client), resource.Empty())
}

func queueOf(exporter sdktrace.SpanExporter, about *resource.Resource) queue {
	spans := NewSpans(exporter)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans), sdktrace.WithResource(about))
	return queue{spans, provider.Tracer("sluice", trace.WithInstrumentationVersion("v1"))}
}

func startBatching(t *testing.T, delay string) (queue, *batching) {
	t.Helper()
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", delay)
	b := &batching{sizes: make(chan int, 100)}
	return newQueue(b), b
}

// put puts n spans into the queue, as far as it has room.
func (q queue) put(n int, attributes ...attribute.KeyValue) {
	for range n {
		_, span := q.Start(context.Background(), "GET /r", trace.WithAttributes(attributes...))
		span.End()
	}
}

// A batch leaves when it is full, the rest at the end, in the order in which spans ended.
func TestBatches(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
	q, b := startBatching(t, "3600000")
	q.put(9)
	if first, second := <-b.sizes, <-b.sizes; first != 4 || second != 4 {
		t.Errorf("batches of %d and %d", first, second)
	}
	if err := q.Shutdown(t.Context()); err != nil {
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
	q.put(1) // after the end
	if n := q.gate.full.Load(); n != 1 {
		t.Errorf("%d are counted as lost, of one after the end", n)
	}
}

// A batch that is not full leaves after the delay.
func TestBatchesAfterTheDelay(t *testing.T) {
	q, b := startBatching(t, "1")
	q.put(1)
	if n := <-b.sizes; n != 1 {
		t.Errorf("a batch of %d", n)
	}
	if err := q.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// A batch is full at a size that collectors accept, however few spans it has.
func TestBatchesAreSmall(t *testing.T) {
	q, b := startBatching(t, "3600000")
	text := strings.Repeat("a", 4<<10)
	q.put(512, attribute.String("a", text), attribute.String("b", text), attribute.String("c", text))
	if n := <-b.sizes; n < 50 || n > 200 {
		t.Errorf("a batch of %d", n)
	}
	if err := q.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// The queue is bounded, the newest spans are lost, and each loss is counted.
func TestQueueIsBounded(t *testing.T) {
	t.Setenv(envSpanQueue, "10")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
	s := &stuck{release: make(chan struct{}), err: errors.New("refused")}
	q := newQueue(s)
	q.put(35)
	if full := q.Gate().Full(); full != 25 {
		t.Errorf("%d are counted as lost, of 35 when 10 may wait", full)
	}
	close(s.release)
	_ = q.Shutdown(t.Context())
	if len(s.spans) != 10 || q.Gate().Refused() != 10 || q.gate.waiting.Load() != 0 {
		t.Errorf("%d were sent, %d are counted as refused, %d wait", len(s.spans), q.Gate().Refused(), q.gate.waiting.Load())
	}
}

// From however many goroutines spans come, each is sent once or counted as lost.
func TestEachIsSentOrCounted(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "7")
	t.Setenv(envSpanQueue, "50")
	k := &stuck{release: make(chan struct{})}
	q := newQueue(k)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { q.put(1000) })
	}
	all.Wait()
	g := q.gate
	lost := g.full.Load()
	close(k.release) // from here on the collector accepts everything
	for range 8 {
		all.Go(func() { q.put(1000) })
	}
	all.Wait()
	if err := q.Shutdown(t.Context()); err != nil {
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
		t.Errorf("%d are lost of 8000 for a stuck collector, and 57 may wait", lost)
	}
}

// hanging is a collector that answers when the context ends, as a real one's client does.
type hanging struct{ keeping }

func (*hanging) UploadTraces(ctx context.Context, _ []*tracepb.ResourceSpans) error {
	<-ctx.Done()
	return ctx.Err()
}

// A collector that hangs ends the sending after its bound, and the process in time; spans that it did not accept are
// counted.
func TestACollectorThatHangs(t *testing.T) {
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2")
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "1")
	q := newQueue(new(hanging))
	q.put(5)
	if err := q.Shutdown(t.Context()); err != nil { // everything is given up
		t.Error(err)
	}
	if n := q.gate.refused.Load(); n != 5 {
		t.Errorf("%d are counted as lost, of 5", n)
	}

	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "3600000")
	q = newQueue(new(hanging))
	q.put(5)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := q.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it says %v", err)
	}
	for q.gate.waiting.Load() > 0 { // they are given up beside the test
		runtime.Gosched()
	}
	if n := q.gate.refused.Load(); n != 5 {
		t.Errorf("%d are counted as lost, of 5", n)
	}
}

// grpcCollector receives spans over gRPC.
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
	exporter, err := SpanExporter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q := queueOf(exporter, Resource(t.Context(), "sluice", "v1"))
	q.put(3)
	if err := q.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := <-collector.got
	of := got.GetScopeSpans()[0]
	if len(of.GetSpans()) != 3 || of.GetSpans()[0].GetName() != "GET /r" || of.GetScope().GetName() != "sluice" || of.GetScope().GetVersion() != "v1" {
		t.Errorf("it received %v", got)
	}
	about := fmt.Sprint(got.GetResource())
	for _, want := range []string{"service.name", "service.version", "service.instance.id", "telemetry.sdk.language", "deployment.environment.name"} {
		if !strings.Contains(about, want) {
			t.Errorf("%s is missing in %s", want, about)
		}
	}
}
