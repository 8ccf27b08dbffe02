package otlp

import (
	"context"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Spans hands ended spans to the SDK's batches. Behind a [Gate], because the SDK's queue drops spans without counting them.
type Spans struct {
	batches sdktrace.SpanProcessor
	gate    *Gate
	unended atomic.Int64
	closed  atomic.Bool
	halt    context.CancelFunc // ends the sending that is under way
}

// SpanExporter returns the exporter that OTEL_* asks for, nil if spans are not to be sent.
func SpanExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	if wanted, err := wants(Traces); !wanted {
		return nil, err
	}
	return autoexport.NewSpanExporter(ctx)
}

// NewSpans starts the batches that the exporter sends. The SDK's variables bound them. [Spans.Shutdown] ends them.
func NewSpans(exporter sdktrace.SpanExporter) *Spans {
	halted, halt := context.WithCancel(context.Background())
	gate := newGate(variable(envSpanQueue, defaultQueue))
	return &Spans{batches: sdktrace.NewBatchSpanProcessor(leavingSpans{exporter, gate, halted}), gate: gate, halt: halt}
}

// Gate returns the count of the spans that were lost.
func (s *Spans) Gate() *Gate { return s.gate }

// Unended returns how many spans were begun and have not ended.
func (s *Spans) Unended() int64 { return s.unended.Load() }

// OnStart implements the SDK's interface, like the methods below.
func (s *Spans) OnStart(context.Context, sdktrace.ReadWriteSpan) { s.unended.Add(1) }

// OnEnd queues a span, unless there is no room.
func (s *Spans) OnEnd(span sdktrace.ReadOnlySpan) {
	s.unended.Add(-1)
	switch {
	case !s.gate.enter():
	case s.closed.Load():
		s.gate.turnAway()
	default:
		s.batches.OnEnd(span)
	}
}

// ForceFlush sends what waits.
func (s *Spans) ForceFlush(ctx context.Context) error { return s.batches.ForceFlush(ctx) }

// Shutdown sends what waits, for as long as the context lasts.
func (s *Spans) Shutdown(ctx context.Context) error {
	s.closed.Store(true)
	defer s.halt()
	return s.batches.Shutdown(ctx)
}

// leavingSpans counts spans out.
type leavingSpans struct {
	sdktrace.SpanExporter
	gate   *Gate
	halted context.Context
}

// ExportSpans sends a batch in parts that collectors take.
func (l leavingSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.halted, cancel)()
	var errs []error
	for len(spans) > 0 {
		n := fitting(spans)
		err := l.SpanExporter.ExportSpans(ctx, spans[:n])
		l.gate.leave(n, err)
		errs, spans = append(errs, err), spans[n:]
	}
	return errors.Join(errs...)
}

// fullPart is about how many bytes of spans are sent at once: collectors take 4 MiB, and 512 spans with prompts have more.
const fullPart = 1 << 20

// fitting returns how many of the spans, one at least, fit into a part.
func fitting(spans []sdktrace.ReadOnlySpan) int {
	size := 0
	for i, span := range spans {
		if size += sizeOf(span); size > fullPart && i > 0 {
			return i
		}
	}
	return len(spans)
}

// sizeOf estimates the bytes that a span takes.
func sizeOf(span sdktrace.ReadOnlySpan) int {
	size := 128 + len(span.Name()) + len(span.Status().Description)
	for _, a := range span.Attributes() {
		size += 16 + len(a.Key)
		switch a.Value.Type() {
		case attribute.STRING:
			size += len(a.Value.AsString())
		case attribute.STRINGSLICE:
			for _, text := range a.Value.AsStringSlice() {
				size += 4 + len(text)
			}
		}
	}
	return size
}
