package otlp

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// pauseTime is the pause after a batch that the collector took nothing of.
const pauseTime = time.Second

// Queue keeps ended spans until they are sent, in batches, by one goroutine. Its bounds are the SDK's, from the SDK's
// variables, and one of bytes. A span that finds no room is dropped and counted.
type Queue struct {
	gate    *Gate
	client  otlptrace.Client
	about   *tracepb.ResourceSpans // the process, without spans
	scope   *common.InstrumentationScope
	limits  sdktrace.SpanLimits
	writers sync.Pool // of *Span
	batches *batches
	every   time.Duration // after this time a batch is sent although it is not full
	timeout time.Duration // of the sending of one batch

	closing chan struct{}
	stopped chan struct{}
	cancel  context.CancelFunc // ends the sending that is under way
}

// NewQueue starts a queue whose batches the client sends. about describes the process, scope what makes the spans.
// [Queue.Close] ends it.
func NewQueue(client otlptrace.Client, about *resource.Resource, scope instrumentation.Scope) *Queue {
	ctx, cancel := context.WithCancel(context.Background())
	gate := newGate(variable(envSpanQueue, defaultQueue))
	q := &Queue{
		gate: gate, client: client, about: wireResource(about),
		scope:   &common.InstrumentationScope{Name: scope.Name, Version: scope.Version},
		limits:  sdktrace.NewSpanLimits(),
		writers: sync.Pool{New: func() any { return new(Span) }},
		batches: newBatches(int(min(variable(envSpanBatch, 512), gate.most))),
		every:   time.Duration(variable(envSpanDelay, 5000)) * time.Millisecond,
		timeout: time.Duration(variable(envSpanTimeout, 30_000)) * time.Millisecond,
		closing: make(chan struct{}), stopped: make(chan struct{}), cancel: cancel,
	}
	go q.run(ctx)
	return q
}

func wireResource(about *resource.Resource) *tracepb.ResourceSpans {
	attributes := make([]*common.KeyValue, 0, about.Len())
	for _, kv := range about.Attributes() {
		attributes = append(attributes, &common.KeyValue{Key: string(kv.Key), Value: &common.AnyValue{
			Value: &common.AnyValue_StringValue{StringValue: Valid(kv.Value.String())},
		}})
	}
	return &tracepb.ResourceSpans{Resource: &resourcepb.Resource{Attributes: attributes}, SchemaUrl: about.SchemaURL()}
}

// Gate returns the count of the spans that were lost.
func (q *Queue) Gate() *Gate { return q.gate }

// Write begins to write a span that has ended. It returns nil if the queue is full, and counts that. The caller adds the
// attributes and hands the span to [Queue.Put].
func (q *Queue) Write(h *Head) *Span {
	if !q.gate.enter() {
		return nil
	}
	s := q.writers.Get().(*Span)
	s.reset(&q.limits)
	s.head(h)
	return s
}

// Put queues a span. The caller must not use it afterwards.
func (q *Queue) Put(s *Span) {
	s.end()
	if !q.batches.add(s.wire) {
		q.gate.turnAway()
	}
	q.writers.Put(s)
}

func (q *Queue) run(ctx context.Context) {
	defer close(q.stopped)
	ticks := time.NewTicker(q.every)
	defer ticks.Stop()
	for {
		last := false
		select {
		case <-q.batches.wake:
		case <-ticks.C:
			q.batches.flush()
		case <-q.closing: // nothing is added any more
			q.batches.flush()
			last = true
		}
		for b, ok := q.batches.next(); ok; b, ok = q.batches.next() {
			if !q.send(ctx, b) && !last {
				q.pause()
			}
		}
		if last {
			return
		}
	}
}

// pause waits after a batch that was lost. Meanwhile the queue fills up and drops spans, which costs next to nothing: writing and
// sending a lost span is as dear as a good one.
func (q *Queue) pause() {
	timer := time.NewTimer(pauseTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-q.closing:
	}
}

// send sends a batch, and reports whether the collector took any of it. The bytes go in as a field that the message does not
// know: protobuf writes unknown fields as they came.
func (q *Queue) send(ctx context.Context, b batch) bool {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	defer q.batches.done(b)
	spans := &tracepb.ScopeSpans{Scope: q.scope}
	spans.ProtoReflect().SetUnknown(b.spans)
	err := q.client.UploadTraces(ctx, []*tracepb.ResourceSpans{{
		Resource: q.about.GetResource(), SchemaUrl: q.about.GetSchemaUrl(), ScopeSpans: []*tracepb.ScopeSpans{spans},
	}})
	lost := q.gate.leave(b.n, err)
	if err != nil {
		otel.Handle(fmt.Errorf("traces export: %w", err))
	}
	return lost < int64(b.n)
}

// Close sends what waits, for as long as the context lasts.
func (q *Queue) Close(ctx context.Context) error {
	if q.batches.close() {
		close(q.closing)
	}
	defer q.cancel()
	select {
	case <-q.stopped:
		return q.client.Stop(ctx)
	case <-ctx.Done():
		_ = q.client.Stop(ctx) // it interrupts the sending that is under way
		return fmt.Errorf("send the spans that wait: %w", ctx.Err())
	}
}
