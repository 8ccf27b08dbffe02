package telemetry

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	defaultQueue = 2048 // bound of each queue: spans, log records
	defaultBatch = 128  // spans in a batch, each of at most 16 KiB: collectors accept 4 MiB
)

// exporterOf opens the exporter of a signal; nil if OTEL_* does not ask for it.
func exporterOf[T, O any](ctx context.Context, signal string, open func(context.Context, ...O) (T, error)) (exporter T, err error) {
	wanted, err := wants(signal)
	if !wanted {
		return exporter, err
	}
	return open(ctx)
}

// gate bounds the items that wait to be sent, and counts the lost ones by reason. The SDK's queues have the same bound but do not
// count what they drop; behind a gate they never drop.
type gate struct {
	limit   int64
	waiting atomic.Int64
	full    atomic.Int64 // lost: no room
	refused atomic.Int64 // lost: the collector refused them or was unreachable
}

// enter takes room for one item. It returns false if the queue is full or closed, and counts the item as lost.
func (g *gate) enter(closed bool) bool {
	if g.waiting.Add(1) <= g.limit && !closed {
		return true
	}
	g.waiting.Add(-1)
	g.full.Add(1)
	return false
}

// leave frees the room of n items that were sent, or lost with err.
func (g *gate) leave(n int, err error) {
	g.waiting.Add(int64(-n))
	if err != nil {
		g.refused.Add(rejected(err, int64(n)))
	}
}

// rejections matches an exporter's error when a collector took only a part of a batch. The SDK has no type for it.
var rejections = regexp.MustCompile(`(?s)partial success: .*\((\d+) [a-z ]+ rejected\)`)

// rejected returns how many of a batch of n items were lost with an error.
func rejected(err error, n int64) int64 {
	if said := rejections.FindStringSubmatch(err.Error()); said != nil {
		if some, err := strconv.ParseInt(said[1], 10, 64); err == nil {
			return min(some, n)
		}
	}
	return n
}

// spanQueue is the SDK's batch processor of spans behind a gate.
type spanQueue struct {
	sdktrace.SpanProcessor
	gate    gate
	unended atomic.Int64
	closed  atomic.Bool
	halt    context.CancelFunc // cancels a running export
}

// newSpanQueue starts a batch processor with the bounds of the SDK's variables. [spanQueue.Shutdown] ends it.
func newSpanQueue(exporter sdktrace.SpanExporter) *spanQueue {
	queue := variable(envSpanQueue, defaultQueue)
	halted, halt := context.WithCancel(context.Background())
	q := &spanQueue{gate: gate{limit: int64(queue)}, halt: halt}
	q.SpanProcessor = sdktrace.NewBatchSpanProcessor(gatedSpans{exporter, &q.gate, halted},
		sdktrace.WithMaxQueueSize(queue), sdktrace.WithMaxExportBatchSize(min(queue, variable(envSpanBatch, defaultBatch))))
	return q
}

// OnStart implements the SDK's interface, like the methods below.
func (q *spanQueue) OnStart(context.Context, sdktrace.ReadWriteSpan) { q.unended.Add(1) }

// OnEnd queues a span, unless there is no room.
func (q *spanQueue) OnEnd(span sdktrace.ReadOnlySpan) {
	q.unended.Add(-1)
	if q.gate.enter(q.closed.Load()) {
		q.SpanProcessor.OnEnd(span)
	}
}

// Shutdown sends what waits, for as long as the context lasts.
func (q *spanQueue) Shutdown(ctx context.Context) error {
	q.closed.Store(true)
	defer q.halt()
	return q.SpanProcessor.Shutdown(ctx)
}

// gatedSpans frees the gate's room when spans were exported.
type gatedSpans struct {
	sdktrace.SpanExporter
	gate   *gate
	halted context.Context
}

func (g gatedSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.halted, cancel)()
	err := g.SpanExporter.ExportSpans(ctx, spans)
	g.gate.leave(len(spans), err)
	return err
}

// logQueue is the SDK's batch processor of log records behind a gate.
type logQueue struct {
	sdklog.Processor
	gate gate
}

func newLogQueue(exporter sdklog.Exporter) *logQueue {
	queue := variable(envLogQueue, defaultQueue)
	q := &logQueue{gate: gate{limit: int64(queue)}}
	q.Processor = sdklog.NewBatchProcessor(gatedLogs{exporter, &q.gate}, sdklog.WithMaxQueueSize(queue))
	return q
}

// OnEmit queues a record, unless there is no room.
func (q *logQueue) OnEmit(ctx context.Context, r *sdklog.Record) error {
	if !q.gate.enter(false) {
		return nil
	}
	return q.Processor.OnEmit(ctx, r)
}

// gatedLogs frees the gate's room when log records were exported. It makes their texts valid UTF-8: events may quote anything, and a
// collector refuses a whole batch for one invalid text.
type gatedLogs struct {
	sdklog.Exporter
	gate *gate
}

func (g gatedLogs) Export(ctx context.Context, records []sdklog.Record) error {
	for i := range records {
		r := &records[i]
		attributes := make([]attribute.KeyValue, 0, r.AttributesLen())
		for kv := range r.WalkAttributes {
			attributes = append(attributes, kv)
		}
		r.SetBody(validValue(r.Body()))
		r.SetAttributes(validList(attributes)...)
	}
	err := g.Exporter.Export(ctx, records)
	g.gate.leave(len(records), err)
	return err
}

func validList(list []attribute.KeyValue) []attribute.KeyValue {
	for i, kv := range list {
		list[i] = attribute.KeyValue{Key: attribute.Key(valid(string(kv.Key))), Value: validValue(kv.Value)}
	}
	return list
}

func validValue(v attribute.Value) attribute.Value {
	switch v.Type() {
	case attribute.STRING:
		return attribute.StringValue(valid(v.AsString()))
	case attribute.MAP:
		return attribute.MapValue(validList(v.AsMap())...)
	case attribute.SLICE:
		items := v.AsSlice()
		for i := range items {
			items[i] = validValue(items[i])
		}
		return attribute.SliceValue(items...)
	case attribute.STRINGSLICE:
		texts := v.AsStringSlice()
		for i := range texts {
			texts[i] = valid(texts[i])
		}
		return attribute.StringSliceValue(texts)
	}
	return v
}

const (
	maxValue  = 256  // bytes of a text from a client or the service; the rest is cut
	maxReason = 1024 // likewise of a refusal's message, which may name several rules
)

func shorten(s string) string { return shortenTo(s, maxValue) }

// shortenTo cuts a text to at most limit bytes, at the end of a character. A cut text is a copy, so that the long one can be freed.
func shortenTo(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.Clone(s[:limit])
}

// valid replaces invalid UTF-8 by U+FFFD.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
