package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Span names a span that was begun and will be sent. The zero value is none.
type Span struct {
	trace trace.TraceID
	id    trace.SpanID
}

// Recording reports whether there is a span, so that collecting its attributes is worth the work.
func (s Span) Recording() bool { return s.id.IsValid() }

// Traceparent is the span as in the W3C's header of that name; empty: none.
func (s Span) Traceparent() string {
	if !s.Recording() {
		return ""
	}
	return "00-" + s.trace.String() + "-" + s.id.String() + "-01"
}

func (s Span) context() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.trace, SpanID: s.id, TraceFlags: trace.FlagsSampled})
}

// readTraceparent reads a traceparent; an invalid one is none. tracestate and baggage are ignored, because clients may put
// anything into them.
func readTraceparent(text string) trace.SpanContext {
	if text == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": text})
	return trace.SpanContextFromContext(ctx)
}
