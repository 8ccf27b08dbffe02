package telemetry

import (
	"context"
	"regexp"
	"strconv"
	"sync/atomic"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// gate bounds what waits to be sent, and counts what is lost, by why. The SDK's own queues drop as well, but do not tell
// how much; nothing gets to them that they would have to drop.
type gate struct {
	most    int64
	waiting atomic.Int64
	full    atomic.Int64 // found no room
	refused atomic.Int64 // the collector did not take them, or was not there
	capped  atomic.Int64 // requests that were not recorded, because the second had its share
}

func newGate(most int64) *gate { return &gate{most: most} }

// enter reports whether there is room for one more; what finds none is lost.
func (g *gate) enter() bool {
	if g.waiting.Add(1) <= g.most {
		return true
	}
	g.waiting.Add(-1)
	g.full.Add(1)
	return false
}

// leave tells that n are out, sent or lost.
func (g *gate) leave(n int, err error) {
	g.waiting.Add(int64(-n))
	if err != nil {
		g.refused.Add(rejected(err, int64(n)))
	}
}

// rejections is how exporters say that a collector took a part of a batch. They have no type for it.
var rejections = regexp.MustCompile(`partial success: .*\((\d+) [a-z ]+ rejected\)`)

// rejected is how many of a batch of n are lost.
func rejected(err error, n int64) int64 {
	if said := rejections.FindStringSubmatch(err.Error()); said != nil {
		if some, bad := strconv.ParseInt(said[1], 10, 64); bad == nil {
			return min(some, n)
		}
	}
	return n
}

// spanGate stands before the SDK's batches of spans. It counts the spans that are under way, too.
type spanGate struct {
	*gate
	sdktrace.SpanProcessor
	unended atomic.Int64
}

func newSpanGate(g *gate, exporter sdktrace.SpanExporter) *spanGate {
	return &spanGate{gate: g, SpanProcessor: sdktrace.NewBatchSpanProcessor(leavingSpans{exporter, g}, sdktrace.WithMaxQueueSize(int(g.most)))}
}

func (g *spanGate) OnStart(context.Context, sdktrace.ReadWriteSpan) { g.unended.Add(1) }

func (g *spanGate) OnEnd(s sdktrace.ReadOnlySpan) {
	g.unended.Add(-1)
	if s.SpanContext().IsSampled() && g.enter() {
		g.SpanProcessor.OnEnd(s)
	}
}

// leavingSpans counts spans out.
type leavingSpans struct {
	sdktrace.SpanExporter
	gate *gate
}

func (l leavingSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := l.SpanExporter.ExportSpans(ctx, spans)
	l.gate.leave(len(spans), err)
	return err
}

// logGate stands before the SDK's batches of log records.
type logGate struct {
	*gate
	sdklog.Processor
}

func newLogGate(g *gate, exporter sdklog.Exporter) *logGate {
	return &logGate{g, sdklog.NewBatchProcessor(leavingLogs{exporter, g}, sdklog.WithMaxQueueSize(int(g.most)))}
}

func (g *logGate) OnEmit(ctx context.Context, r *sdklog.Record) error {
	if !g.enter() {
		return nil
	}
	return g.Processor.OnEmit(ctx, r)
}

// leavingLogs counts log records out.
type leavingLogs struct {
	sdklog.Exporter
	gate *gate
}

func (l leavingLogs) Export(ctx context.Context, records []sdklog.Record) error {
	err := l.Exporter.Export(ctx, records)
	l.gate.leave(len(records), err)
	return err
}
