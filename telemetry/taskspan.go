package telemetry

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"sluice/telemetry/meter"
)

// Task is a task that has ended, for its span and its line in the log.
type Task struct {
	Request   string // the request id of its creation
	Creation  string // traceparent of the span that created it; empty: none, and the task has no span
	Key       string // public id of the key that created it
	ID        string
	Model     string
	Team      string
	Account   string    // the account at the service that made it; empty: there is only one
	Outcome   string    // succeeded, failed, cancelled, unheard
	Submitted time.Time // by the service's clock, or else when it was claimed
	Started   time.Time // when it left the queue; zero: the service does not report it
	Ended     time.Time
	Served    int64       // polls answered to clients
	Sent      int64       // queries sent to the service
	Images    int64       // images it made; charged unless its path is charged by the request
	Usage     meter.Usage // in the answer that showed the end
	Cost      Cost        // what was charged
	Held      Cost        // what was held from its creation
	Estimated bool        // what it made was not counted by the service
	SettledBy string      // poll, finisher, stream, lease
}

// Times returns the time in the queue and the time from there to its end; 0 if not known.
func (t *Task) Times() (queue, run time.Duration) { return t.waited(), t.ran() }

// waited is the time in the queue; 0 if not known.
func (t *Task) waited() time.Duration {
	if t.Started.IsZero() {
		return 0
	}
	return max(t.Started.Sub(t.Submitted), 0)
}

// ran is the time from the end of the queue to its end; 0 if not known.
func (t *Task) ran() time.Duration {
	if t.Started.IsZero() {
		return 0
	}
	return max(t.Ended.Sub(t.Started), 0)
}

// Task sends the span of a task that has ended, as part of its creation's trace, if that is recorded.
func (t *Traces) Task(task *Task) {
	if t == nil || task.Creation == "" {
		return
	}
	creation := readTraceparent(task.Creation)
	if !creation.IsSampled() {
		return
	}
	ended := task.Ended
	if ended.Before(task.Submitted) {
		ended = task.Submitted
	}
	ctx := trace.ContextWithSpanContext(context.Background(), creation.WithRemote(false))
	name := strings.TrimSpace("task " + valid(shorten(task.Model)))
	span := t.begin(ctx, name, task.Submitted, trace.SpanKindInternal)
	var a attributes
	writeTask(&a, task)
	span.of.SetAttributes(a...)
	if task.Outcome == "failed" {
		span.fail(task.Outcome)
	}
	span.of.End(trace.WithTimestamp(ended))
}

func writeTask(s *attributes, task *Task) {
	s.text(ownTask, task.ID)
	s.text(genModel, task.Model)
	s.text(ownTeam, task.Team)
	s.text(ownAccount, task.Account)
	s.text(ownTaskOutcome, task.Outcome)
	s.int(ownPollsServed, task.Served)
	s.int(ownPollsSent, task.Sent)
	s.int(ownUsageImages, task.Images)
	if task.Estimated {
		s.isTrue(ownTaskEstimated)
	}
	if task.Outcome == "failed" {
		s.text(errorType, "task_failed")
	}
	if !task.Started.IsZero() {
		s.float(ownQueueTime, task.waited().Seconds())
		s.float(ownRunTime, task.ran().Seconds())
	}
}
