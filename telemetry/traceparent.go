package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"sluice/telemetry/otlp"
)

// Span is a span that will be sent. The zero value is none.
type Span struct{ of trace.Span }

// Recording reports whether there is a span, so that collecting its attributes is worth the work.
func (s Span) Recording() bool { return s.of != nil }

// Traceparent is the span as in the W3C's header of that name; empty: none.
func (s Span) Traceparent() string {
	if !s.Recording() {
		return ""
	}
	c := s.of.SpanContext()
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-01"
}

// parent is the context of a span that begins inside this one.
func (s Span) parent() context.Context {
	if !s.Recording() {
		return context.Background()
	}
	return trace.ContextWithSpan(context.Background(), s.of)
}

// fail sets the status to error. The text may be empty.
func (s Span) fail(text string) { s.of.SetStatus(codes.Error, otlp.Valid(text)) }

// readTraceparent reads a traceparent; an invalid one is none. tracestate and baggage are ignored, because clients may put
// anything into them.
func readTraceparent(text string) trace.SpanContext {
	if text == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": text})
	return trace.SpanContextFromContext(ctx)
}
