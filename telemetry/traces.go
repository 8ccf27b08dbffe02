package telemetry

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Traces makes spans. It is made by [Open]. A nil Traces makes none. Its methods are called from any goroutine and wait
// for nothing.
type Traces struct {
	config   Config
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	gate     *spanGate
	sampler  *sampler
	latest   bool // the newest GenAI conventions, not those of 1.41
}

func newTraces(config Config, about *resource.Resource, exporter sdktrace.SpanExporter, g *gate) *Traces {
	t := &Traces{config: config, gate: newSpanGate(g, exporter)}
	t.latest = optsIn(latestGenAI)
	t.sampler = newSampler(config.Logger, time.Now, func() { g.capped.Add(1) })
	t.provider = sdktrace.NewTracerProvider(
		sdktrace.WithResource(about), sdktrace.WithSampler(sdktrace.AlwaysSample()), // what is not to be recorded is not begun
		sdktrace.WithSpanProcessor(t.gate), sdktrace.WithRawSpanLimits(sdktrace.NewSpanLimits()), // by the SDK's variables; what comes from outside is cut where it is set
	)
	t.tracer = t.provider.Tracer(scope, trace.WithInstrumentationVersion(config.Version))
	return t
}

func (t *Traces) close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Unended counts the spans that were begun and have not ended. Tests ask.
func (t *Traces) Unended() int64 { return t.gate.unended.Load() }

// Span is one that was begun. The zero value is none; its methods do nothing then.
type Span struct{ span trace.Span }

// Recording reports whether anybody will see the span, so that what it would tell is worth finding out.
func (s Span) Recording() bool { return s.span != nil && s.span.IsRecording() }

func (s Span) context() trace.SpanContext {
	if s.span == nil {
		return trace.SpanContext{}
	}
	return s.span.SpanContext()
}

// Traceparent is the span as the W3C's header of that name has it; "" is none.
func (s Span) Traceparent() string {
	if !s.context().IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), s.context()), carrier)
	return carrier.Get("traceparent")
}

// readTraceparent reads one traceparent; anything that is not one is none. State and baggage that come with it are left
// alone: nothing here needs them, and nobody vouches for them.
func readTraceparent(text string) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": text})
	return trace.SpanContextFromContext(ctx)
}

func (t *Traces) clients(header http.Header) trace.SpanContext {
	if given := header["Traceparent"]; len(given) == 1 {
		return readTraceparent(given[0])
	}
	return trace.SpanContext{}
}

// Arrive begins the span of a request whose Record has its time and method so far. route is the path's template.
func (t *Traces) Arrive(r *Record, header http.Header) {
	if t == nil {
		return
	}
	client, joined := t.clients(header), trace.SpanContext{}
	if t.config.Join && client.IsValid() {
		joined = client
		r.TraceID = client.TraceID().String()
	}
	if !t.sampler.records(joined) {
		return
	}
	options := make([]trace.SpanStartOption, 0, 3)
	options = append(options, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(r.Time))
	if client.IsValid() && !joined.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: client}))
	}
	_, span := t.tracer.Start(trace.ContextWithRemoteSpanContext(context.Background(), joined), serverName(r), options...) //nolint:spancheck // Leave ends it
	r.Span, r.TraceID = Span{span}, span.SpanContext().TraceID().String()
}

func serverName(r *Record) string {
	if r.Route == "" {
		return methodLabel(r.Method)
	}
	return methodLabel(r.Method) + " " + r.Route
}

// set adds attributes that are known.
type set []attribute.KeyValue

func (s *set) text(key attribute.Key, value string) {
	if value == "" {
		return
	}
	if len(value) > maxValue {
		value = shorten(value, maxValue)
	}
	*s = append(*s, key.String(value))
}

func (s *set) number(key attribute.Key, value int64) {
	if value != 0 {
		*s = append(*s, key.Int64(value))
	}
}
