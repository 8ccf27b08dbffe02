package telemetry

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"sluice/telemetry/meter"
	"sluice/telemetry/otlp"
)

// Task is a task that has ended, as its span and its line of the log tell it.
type Task struct {
	Request   string // the request id of its creation
	Creation  string // traceparent of the span that created it; "" is none, and then there is no span of the task
	Key       string // public id of the key that created it
	ID        string
	Model     string
	Team      string
	Outcome   string    // succeeded, failed, cancelled, unheard
	Submitted time.Time // by the service's word, or else when it was claimed
	Started   time.Time // when it left the queue; zero: not said
	Ended     time.Time
	Served    int64       // polls that clients were answered
	Sent      int64       // queries that upstream was sent
	Images    int64       // that it made, and was charged for unless its path is charged by the request
	Usage     meter.Usage // what the answer said that told the end
	Cost      Cost        // what was charged
	Held      Cost        // what was held since its creation
	Estimated bool        // the images were not counted by the service
	SettledBy string      // poll, finisher, stream, lease
}

// waited is how long it stood in the queue, and ran how long it took from there; 0 where it is not known when it began.
func (t *Task) waited() time.Duration {
	if t.Started.IsZero() {
		return 0
	}
	return max(t.Started.Sub(t.Submitted), 0)
}

func (t *Task) ran() time.Duration {
	if t.Started.IsZero() {
		return 0
	}
	return max(t.Ended.Sub(t.Started), 0)
}

// Task tells of a task that has ended. It belongs to the trace of its creation and is told where that is.
func (t *Traces) Task(task *Task) {
	if t == nil || task.Creation == "" {
		return
	}
	creation := readTraceparent(task.Creation)
	if !creation.IsSampled() {
		return
	}
	h := otlp.Head{
		Span: t.begin(creation.TraceID()).context(), Parent: creation.WithRemote(false), Kind: trace.SpanKindInternal,
		Name: strings.TrimSpace("task " + otlp.Shorten(task.Model, otlp.MaxValue)), Start: task.Submitted, End: task.Ended,
		Failed: task.Outcome == "failed", Message: task.Outcome,
	}
	if h.End.Before(h.Start) {
		h.End = h.Start
	}
	if s := t.end(&h); s != nil {
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
