package telemetry

import (
	"context"
	"regexp"
	"strconv"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
)

// gate bounds what waits to be sent, and counts what is lost, by why. The SDK's own queue of log records drops as well, but
// does not tell how much; nothing gets to it that it would have to drop.
type gate struct {
	most    int64
	waiting atomic.Int64
	full    atomic.Int64 // found no room
	refused atomic.Int64 // the collector did not take them, or was not there
}

func newGate(most int64) *gate { return &gate{most: most} }

// enter reports whether there is room for one more; what finds none is lost.
func (g *gate) enter() bool {
	if g.waiting.Add(1) <= g.most {
		return true
	}
	g.turnAway()
	return false
}

// turnAway takes back an enter: there was no room after all.
func (g *gate) turnAway() {
	g.waiting.Add(-1)
	g.full.Add(1)
}

// leave tells that n are out, sent or lost, and returns how many are lost.
func (g *gate) leave(n int, err error) (lost int64) {
	g.waiting.Add(int64(-n))
	if err != nil {
		lost = rejected(err, int64(n))
		g.refused.Add(lost)
	}
	return lost
}

// rejections is how exporters say that a collector took a part of a batch. They have no type for it.
var rejections = regexp.MustCompile(`(?s)partial success: .*\((\d+) [a-z ]+ rejected\)`)

// rejected is how many of a batch of n are lost.
func rejected(err error, n int64) int64 {
	if said := rejections.FindStringSubmatch(err.Error()); said != nil {
		if some, bad := strconv.ParseInt(said[1], 10, 64); bad == nil {
			return min(some, n)
		}
	}
	return n
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

// leavingLogs counts log records out, and makes their texts valid UTF-8: a batch in which one is not is lost as a whole. Those
// of a Record are valid already; an event may quote anything.
type leavingLogs struct {
	sdklog.Exporter
	gate *gate
}

func (l leavingLogs) Export(ctx context.Context, records []sdklog.Record) error {
	for i := range records {
		makeValid(&records[i])
	}
	err := l.Exporter.Export(ctx, records)
	l.gate.leave(len(records), err)
	return err
}

func makeValid(r *sdklog.Record) {
	attributes := make([]attribute.KeyValue, 0, r.AttributesLen())
	for kv := range r.WalkAttributes {
		attributes = append(attributes, kv)
	}
	r.SetBody(validValue(r.Body()))
	r.SetAttributes(validList(attributes)...)
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
