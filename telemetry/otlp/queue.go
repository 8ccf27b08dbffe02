package otlp

import (
	"context"
	"fmt"
	"slices"
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
	"google.golang.org/protobuf/encoding/protowire"
)

const (
	// fullBatch is where a batch is full whatever it counts: collectors take 4 MiB at once.
	fullBatch = 1 << 20
	// waitingBytes is how many bytes of spans wait to be sent at most.
	waitingBytes = 16 << 20
	// pauseTime is how long after a batch that was lost the next is sent.
	pauseTime = time.Second
	// fieldSpans is where a ScopeSpans has its spans.
	fieldSpans = 2
)

// Queue keeps the spans that have ended until they are sent, in batches, by one goroutine. Its bounds are the SDK's, by the
// SDK's variables, and beside them one of bytes.
type Queue struct {
	gate   *Gate
	client otlptrace.Client
	about  *tracepb.ResourceSpans // who tells
	scope  *common.InstrumentationScope
	most   int           // spans of a batch
	every  time.Duration // how often a batch that is not full is sent
	bound  time.Duration // how long the sending of one takes at most

	limits  sdktrace.SpanLimits
	writers sync.Pool

	mu      sync.Mutex
	filling batch
	full    []batch
	spare   [][]byte // of batches that were sent
	bytes   int      // of all that wait
	shut    bool

	wake    chan struct{} // there is a full batch
	closing chan struct{}
	stopped chan struct{}
	cancel  context.CancelFunc // ends the sending that is under way
}

// batch is the wire form of the spans of a ScopeSpans.
type batch struct {
	spans []byte
	n     int
}

// NewQueue starts a queue whose spans the client sends. about says which process they are of, scope what made them. Its
// bounds are those of the SDK, from the SDK's variables. [Queue.Close] ends it.
func NewQueue(client otlptrace.Client, about *resource.Resource, scope instrumentation.Scope) *Queue {
	ctx, cancel := context.WithCancel(context.Background())
	gate := newGate(variable(envSpanQueue, defaultQueue))
	o := &Queue{
		gate: gate, client: client, about: wireResource(about), scope: &common.InstrumentationScope{Name: scope.Name, Version: scope.Version},
		limits: sdktrace.NewSpanLimits(), writers: sync.Pool{New: func() any { return new(Span) }},
		most:  int(min(variable(envSpanBatch, 512), gate.most)),
		every: time.Duration(variable(envSpanDelay, 5000)) * time.Millisecond,
		bound: time.Duration(variable(envSpanTimeout, 30_000)) * time.Millisecond,
		wake:  make(chan struct{}, 1), closing: make(chan struct{}), stopped: make(chan struct{}), cancel: cancel,
	}
	go o.run(ctx)
	return o
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
func (o *Queue) Gate() *Gate { return o.gate }

// Write begins to write a span that has ended. It returns nil where the queue is full, which is counted. The caller adds the
// attributes and hands the span to [Queue.Put].
func (o *Queue) Write(h *Head) *Span {
	if !o.gate.enter() {
		return nil
	}
	s := o.writers.Get().(*Span)
	s.reset(&o.limits)
	s.head(h)
	return s
}

// Put queues a span, which belongs to the queue from then on.
func (o *Queue) Put(s *Span) {
	s.end()
	o.put(s.wire)
	o.writers.Put(s)
}

// put takes a span that has entered the gate. The bytes are the caller's again.
func (o *Queue) put(span []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shut || o.bytes+len(span) > waitingBytes {
		o.gate.turnAway()
		return
	}
	b := &o.filling
	before := len(b.spans)
	b.spans = protowire.AppendBytes(protowire.AppendTag(b.spans, fieldSpans, protowire.BytesType), span)
	b.n++
	o.bytes += len(b.spans) - before
	if b.n >= o.most || len(b.spans) >= fullBatch {
		o.close()
	}
}

// close makes what is being filled a full batch; the caller holds the lock. The next one will be as large.
func (o *Queue) close() {
	size := len(o.filling.spans)
	o.full, o.filling = append(o.full, o.filling), batch{}
	if last := len(o.spare) - 1; last >= 0 {
		o.filling.spans, o.spare = o.spare[last], o.spare[:last]
	} else {
		o.filling.spans = make([]byte, 0, size)
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// closeAll has what there is sent, full or not.
func (o *Queue) closeAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.filling.n > 0 {
		o.close()
	}
}

// next takes the oldest full batch.
func (o *Queue) next() (batch, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.full) == 0 {
		return batch{}, false
	}
	b := o.full[0]
	o.full = slices.Delete(o.full, 0, 1)
	return b, true
}

func (o *Queue) run(ctx context.Context) {
	defer close(o.stopped)
	ticks := time.NewTicker(o.every)
	defer ticks.Stop()
	for {
		last := false
		select {
		case <-o.wake:
		case <-ticks.C:
			o.closeAll()
		case <-o.closing: // nothing is put any more
			o.closeAll()
			last = true
		}
		for b, ok := o.next(); ok; b, ok = o.next() {
			if !o.send(ctx, b) && !last {
				o.pause()
			}
		}
		if last {
			return
		}
	}
}

// pause waits after a batch that nobody took: meanwhile the queue fills, and a span that finds no room costs next to
// nothing, while one that is written and sent in vain costs as much as any.
func (o *Queue) pause() {
	timer := time.NewTimer(pauseTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-o.closing:
	}
}

// send sends a batch, and reports whether any of it was taken. The bytes stand in for the objects that they would be written from: a field that a message does not
// know is kept and written as it came.
func (o *Queue) send(ctx context.Context, b batch) bool {
	ctx, cancel := context.WithTimeout(ctx, o.bound)
	defer cancel()
	spans := &tracepb.ScopeSpans{Scope: o.scope}
	spans.ProtoReflect().SetUnknown(b.spans)
	err := o.client.UploadTraces(ctx, []*tracepb.ResourceSpans{{
		Resource: o.about.GetResource(), SchemaUrl: o.about.GetSchemaUrl(), ScopeSpans: []*tracepb.ScopeSpans{spans},
	}})
	lost := o.gate.leave(b.n, err)
	if err != nil {
		otel.Handle(fmt.Errorf("traces export: %w", err))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= len(b.spans)
	if cap(b.spans) <= 2*fullBatch && len(o.spare) < 2 {
		o.spare = append(o.spare, b.spans[:0])
	}
	return lost < int64(b.n)
}

// Close sends what waits, for as long as the context lasts.
func (o *Queue) Close(ctx context.Context) error {
	o.mu.Lock()
	first := !o.shut
	o.shut = true
	o.mu.Unlock()
	if first {
		close(o.closing)
	}
	defer o.cancel()
	select {
	case <-o.stopped:
		return o.client.Stop(ctx)
	case <-ctx.Done():
		_ = o.client.Stop(ctx) // it interrupts what is under way
		return fmt.Errorf("send the spans that wait: %w", ctx.Err())
	}
}
