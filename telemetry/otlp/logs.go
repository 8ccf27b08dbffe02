package otlp

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
)

// logGate counts log records into the SDK's batches.
type logGate struct {
	*Gate
	sdklog.Processor
}

func newLogGate(g *Gate, exporter sdklog.Exporter) *logGate {
	return &logGate{g, sdklog.NewBatchProcessor(leavingLogs{exporter, g}, sdklog.WithMaxQueueSize(int(g.most)))}
}

func (g *logGate) OnEmit(ctx context.Context, r *sdklog.Record) error {
	if !g.enter() {
		return nil
	}
	return g.Processor.OnEmit(ctx, r)
}

// leavingLogs counts log records out and makes their texts valid UTF-8: events may quote anything, and one invalid text would
// lose its whole batch.
type leavingLogs struct {
	sdklog.Exporter
	gate *Gate
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
		list[i] = attribute.KeyValue{Key: attribute.Key(Valid(string(kv.Key))), Value: validValue(kv.Value)}
	}
	return list
}

func validValue(v attribute.Value) attribute.Value {
	switch v.Type() {
	case attribute.STRING:
		return attribute.StringValue(Valid(v.AsString()))
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
			texts[i] = Valid(texts[i])
		}
		return attribute.StringSliceValue(texts)
	}
	return v
}
