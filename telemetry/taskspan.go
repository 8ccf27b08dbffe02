package telemetry

import (
	"strings"
	"time"

	"sluice/telemetry/meter"
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
	if !creation.Recording() || !creation.sampled {
		return
	}
	h := head{
		span: t.begin(creation.trace), parent: creation.Span, kind: kindInternal, name: strings.TrimSpace("task " + shorten(task.Model, maxValue)),
		begun: task.Submitted, ended: task.Ended, fault: task.Outcome == "failed", why: task.Outcome,
	}
	if h.ended.Before(h.begun) {
		h.ended = h.begun
	}
	if w := t.end(&h); w != nil {
		w.task(task)
		t.send(w)
	}
}

func (w *spanWriter) task(task *Task) {
	w.text(ownTask, task.ID)
	w.text(genModel, task.Model)
	w.text(ownTeam, task.Team)
	w.text(ownTaskOutcome, task.Outcome)
	w.number(ownPollsServed, task.Served)
	w.number(ownPollsSent, task.Sent)
	w.number(ownUsageImages, task.Images)
	if task.Estimated {
		w.yes(ownTaskEstimated)
	}
	if task.Outcome == "failed" {
		w.text(errorType, "task_failed")
	}
	if !task.Started.IsZero() {
		w.float(ownQueueTime, task.waited().Seconds())
		w.float(ownRunTime, task.ran().Seconds())
	}
}
