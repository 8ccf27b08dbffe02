package telemetry

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"sluice/telemetry/otlp"
)

// Log writes the line of a task that was settled at that moment. Like the line of a request it always has all members.
func (t *Task) Log(logger *slog.Logger, at time.Time) {
	creation, handler := readTraceparent(t.Creation), logger.Handler()
	ctx := trace.ContextWithSpanContext(context.Background(), creation)
	if !handler.Enabled(ctx, slog.LevelInfo) {
		return
	}
	record := slog.NewRecord(at.UTC(), slog.LevelInfo, "task", 0)
	traceID := ""
	if creation.IsValid() {
		traceID = creation.TraceID().String()
	}
	t.line(&record, traceID)
	_ = handler.Handle(ctx, record) // as for any line
}

func (t *Task) line(r *slog.Record, traceID string) {
	var l recordLine
	r.AddAttrs(
		slog.String("id", t.Request),
		slog.String("trace_id", traceID),
		slog.String("team", t.Team),
		slog.String("key", t.Key),
		slog.String("model", otlp.Shorten(t.Model, otlp.MaxValue)),
		slog.String("task", otlp.Shorten(t.ID, otlp.MaxValue)),
		slog.String("outcome", t.Outcome),
		l.usage(&t.Usage),
		l.cost("cost", &t.Cost),
		l.cost("held", &t.Held),
		slog.String("submit_time", t.Submitted.UTC().Format(time.RFC3339Nano)),
		slog.String("end_time", t.Ended.UTC().Format(time.RFC3339Nano)),
		milliseconds("queue_ms", t.waited()),
		milliseconds("run_ms", t.ran()),
		slog.Int64("polls_served", t.Served),
		slog.Int64("polls_sent", t.Sent),
		slog.String("settled_by", t.SettledBy),
	)
}
