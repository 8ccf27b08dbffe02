package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Task is a task that has ended, as its span tells it.
type Task struct {
	Creation  string // traceparent of the span that created it; "" is none, and then nothing is told
	ID        string
	Model     string
	Team      string
	Outcome   string    // succeeded, failed, cancelled, unheard
	Submitted time.Time // by the service's word, or else when it was claimed
	Started   time.Time // when it left the queue; zero: not said
	Ended     time.Time
	Served    int64 // polls that clients were answered
	Sent      int64 // queries that upstream was sent
	Images    int64 // that were charged
	Estimated bool  // the images were not counted by the service
}

// Task tells of a task that has ended. It belongs to the trace of its creation and is told where that is.
func (t *Traces) Task(task *Task) {
	if t == nil || task.Creation == "" {
		return
	}
	creation := readTraceparent(task.Creation)
	if !creation.IsValid() || !creation.IsSampled() {
		return
	}
	// We wrote it ourselves, so that it is not a stranger's wish.
	ctx := trace.ContextWithSpanContext(context.Background(), creation.WithRemote(false))
	model := task.Model
	if len(model) > maxValue {
		model = shorten(model, maxValue)
	}
	ended := task.Ended
	if ended.Before(task.Submitted) {
		ended = task.Submitted
	}
	_, span := t.tracer.Start(ctx, "task "+model, trace.WithTimestamp(task.Submitted))
	span.SetAttributes(task.attributes(ended)...)
	if task.Outcome == "failed" {
		span.SetStatus(codes.Error, task.Outcome)
	}
	span.End(trace.WithTimestamp(ended))
}

func (task *Task) attributes(ended time.Time) set {
	s := make(set, 0, 12)
	s.text(ownTask, task.ID)
	s.text(genModel, task.Model)
	s.text(ownTeam, task.Team)
	s.text(ownTaskOutcome, task.Outcome)
	s = append(s, ownPollsServed.Int64(task.Served), ownPollsSent.Int64(task.Sent), ownUsageImages.Int64(task.Images))
	if task.Estimated {
		s = append(s, ownTaskEstimated.Bool(true))
	}
	if task.Outcome == "failed" {
		s.text(errorType, "task_failed")
	}
	if !task.Started.IsZero() {
		s = append(s,
			ownQueueTime.Float64(max(task.Started.Sub(task.Submitted), 0).Seconds()),
			ownRunTime.Float64(max(ended.Sub(task.Started), 0).Seconds()))
	}
	return s
}
