package telemetry

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"sluice/telemetry/meter"
	"sluice/telemetry/otlp"
)

// Task is a task that has ended, for its span and its line in the log.
type Task struct {
	Request   string // the request id of its creation
	Creation  string // traceparent of the span that created it; empty: none, and then the task has no span
	Key       string // public id of the key that created it
	ID        string
	Model     string
	Team      string
	Outcome   string    // succeeded, failed, cancelled, unheard
	Submitted time.Time // as the service says, or else when it was claimed
	Started   time.Time // when it left the queue; zero: the service does not say
	Ended     time.Time
	Served    int64       // polls that clients were answered
	Sent      int64       // queries that the service was sent
	Images    int64       // that it made; charged unless its path is charged by the request
	Usage     meter.Usage // in the answer that showed the end
	Cost      Cost        // what was charged
	Held      Cost        // what was held since its creation
	Estimated bool        // the images were not counted by the service
	SettledBy string      // poll, finisher, stream, lease
}

// waited is its time in the queue; 0 if that is not known.
func (t *Task) waited() time.Duration {
	if t.Started.IsZero() {
		return 0
	}
	return max(t.Started.Sub(t.Submitted), 0)
}

// ran is the time from there to its end; 0 if that is not known.
func (t *Task) ran() time.Duration {
	if t.Started.IsZero() {
		return 0
	}
	return max(t.Ended.Sub(t.Started), 0)
}

// Task sends the span of a task that has ended. The span is part of its creation's trace, and is sent if that is recorded.
func (t *Traces) Task(task *Task) {
	if t == nil || task.Creation == "" {
		return
	}
	creation := readTraceparent(task.Creation)
	if !creation.IsSampled() {
		return
	}
	h := otlp.Head{
		Span: t.newSpan(creation.TraceID()).context(), Parent: creation.WithRemote(false), Kind: trace.SpanKindInternal,
		Name: strings.TrimSpace("task " + otlp.Shorten(task.Model, otlp.MaxValue)), Start: task.Submitted, End: task.Ended,
		Failed: task.Outcome == "failed", Message: task.Outcome,
	}
	if h.End.Before(h.Start) {
		h.End = h.Start
	}
	if s := t.write(&h); s != nil {
		writeTask(s, task)
		t.queue.Put(s)
	}
}

func writeTask(s *otlp.Span, task *Task) {
	s.Text(ownTask, task.ID)
	s.Text(genModel, task.Model)
	s.Text(ownTeam, task.Team)
	s.Text(ownTaskOutcome, task.Outcome)
	s.Int(ownPollsServed, task.Served)
	s.Int(ownPollsSent, task.Sent)
	s.Int(ownUsageImages, task.Images)
	if task.Estimated {
		s.True(ownTaskEstimated)
	}
	if task.Outcome == "failed" {
		s.Text(errorType, "task_failed")
	}
	if !task.Started.IsZero() {
		s.Float(ownQueueTime, task.waited().Seconds())
		s.Float(ownRunTime, task.ran().Seconds())
	}
}
