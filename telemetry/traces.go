package telemetry

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Traces makes spans. It is made by [Open]. A nil Traces makes none. Its methods are called from any goroutine and wait
// for nothing.
type Traces struct {
	config  Config
	outbox  *outbox
	sampler *sampler
	limits  sdktrace.SpanLimits
	writers sync.Pool
	unended atomic.Int64
	host    string // of the service
	port    int64
	latest  bool // the newest GenAI conventions, not those of 1.41
}

func newTraces(config Config, about *resource.Resource, client otlptrace.Client, g *gate) *Traces {
	attributes := make([]*common.KeyValue, 0, about.Len())
	for _, kv := range about.Attributes() {
		attributes = append(attributes, &common.KeyValue{Key: string(kv.Key), Value: &common.AnyValue{
			Value: &common.AnyValue_StringValue{StringValue: valid(kv.Value.String())},
		}})
	}
	return &Traces{
		config: config, host: config.upstreamHost(), port: config.upstreamPort(), latest: optsIn(latestGenAI), sampler: newSampler(config.Logger, time.Now), limits: sdktrace.NewSpanLimits(),
		writers: sync.Pool{New: func() any { return new(spanWriter) }},
		outbox: newOutbox(g, client, &tracepb.ResourceSpans{Resource: &resourcepb.Resource{Attributes: attributes}, SchemaUrl: about.SchemaURL()},
			&common.InstrumentationScope{Name: scope, Version: config.Version}),
	}
}

func (t *Traces) close(ctx context.Context) error { return t.outbox.shutdown(ctx) }

// Unended counts the spans that were begun and have not ended. Tests ask.
func (t *Traces) Unended() int64 { return t.unended.Load() }

// Span is one that was begun, and will be sent. The zero value is none.
type Span struct {
	trace trace.TraceID
	id    trace.SpanID
}

// begin begins a span: one of a trace, or, where that is none, the first of its own. All that a span tells it tells at its
// end.
func (t *Traces) begin(of trace.TraceID) Span {
	s := Span{trace: of}
	for !s.trace.IsValid() {
		putRandom(s.trace[:8])
		putRandom(s.trace[8:])
	}
	for !s.id.IsValid() {
		putRandom(s.id[:])
	}
	t.unended.Add(1)
	return s
}

func putRandom(b []byte) {
	for i, n := 0, rand.Uint64(); i < len(b); i, n = i+1, n>>8 {
		b[i] = byte(n)
	}
}

// end writes a span's head; nil: there is no room for it, which is counted. The caller writes its attributes and hands it
// to send.
func (t *Traces) end(h *head) *spanWriter {
	t.unended.Add(-1)
	if !t.outbox.gate.enter() {
		return nil
	}
	w := t.writers.Get().(*spanWriter)
	w.reset(&t.limits)
	w.head(h)
	return w
}

func (t *Traces) send(w *spanWriter) {
	w.end()
	t.outbox.put(w.wire)
	t.writers.Put(w)
}

// Recording reports whether anybody will see the span, so that what it would tell is worth finding out.
func (s Span) Recording() bool { return s.id.IsValid() }

func (s Span) context() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.trace, SpanID: s.id, TraceFlags: trace.FlagsSampled})
}

// Traceparent is the span as the W3C's header of that name has it; "" is none.
func (s Span) Traceparent() string {
	if !s.Recording() {
		return ""
	}
	var text [55]byte
	copy(text[:], "00-")
	hex.Encode(text[3:], s.trace[:])
	text[35] = '-'
	hex.Encode(text[36:], s.id[:])
	copy(text[52:], "-01")
	return string(text[:])
}

// traceID is the trace in hex; "" is none.
func (s Span) traceID() string {
	if !s.trace.IsValid() {
		return ""
	}
	return s.trace.String()
}

// readTraceparent reads one traceparent; anything that is not one is none. State and baggage that come with it are left
// alone: nothing here needs them, and nobody vouches for them.
func readTraceparent(text string) link {
	if text == "" {
		return link{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": text})
	read := trace.SpanContextFromContext(ctx)
	return link{Span: Span{read.TraceID(), read.SpanID()}, sampled: read.IsSampled(), remote: true}
}

// Arrive begins the span of a request whose Record has its time and method so far. Its trace is the client's where that is
// to be joined.
func (t *Traces) Arrive(r *Record, header http.Header) {
	if t == nil {
		return
	}
	var joined link
	if given := header["Traceparent"]; len(given) == 1 {
		r.client = readTraceparent(given[0])
	}
	if t.config.Join && r.client.Recording() {
		joined = r.client
		r.TraceID = joined.trace.String()
	}
	if t.sampler.records(joined) {
		r.Span = t.begin(joined.trace)
		r.TraceID = r.Span.trace.String()
	}
}
