package task

import (
	"cmp"
	"time"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/fault"
	"sluice/gateway/simulator/gallery"
)

// Settings are those of simulator.Config that concern tasks. TTL, Max and the last three are required.
type Settings struct {
	Pending, Running time.Duration  // how long a task waits and works
	TTL              time.Duration  // how long it is known
	Slots            int            // tasks of one model that run at once; zero means no bound
	Max              int            // tasks remembered
	Zone             *time.Location // of the times in answers
	TimeLayout       string         // of the times in answers
	Canceled         string         // how that state is spelled
}

// Task is one asynchronous image task. After Store.Add only the store changes it.
type Task struct {
	ID      string
	Request string // id of the creation
	Model   string
	Prompt  string
	Actual  string // the prompt as rewritten
	Count   int    // images asked for
	Easel   gallery.Easel
	Story   *gallery.Story // of an interleaved task, else nil
	Choices bool           // results have the form of choices, not the older one
	Modern  bool           // FAILED puts code and message at top level
	Live    bool           // its stream is still being sent
	Fate    fault.Task
	Poll    *fault.Fault // of its queries, or nil

	created, start, end time.Time
	canceled            time.Time // zero: not
	queries             int
	billed              bool
}

// state is the task's state at now.
func (t *Task) state(now time.Time, set *Settings) string {
	switch {
	case now.Sub(t.created) >= set.TTL:
		return answer.StateUnknown
	case !t.canceled.IsZero():
		return set.Canceled
	case t.Live:
		return answer.StateRunning
	case now.Before(t.start) && t.Fate.Outcome == "suspend":
		return answer.StateSuspended
	case now.Before(t.start):
		return answer.StatePending
	case t.Fate.Outcome == "fail_pending":
		return answer.StateFailed
	case now.Before(t.end), t.Fate.Outcome == "never":
		return answer.StateRunning
	case t.Fate.Outcome == "fail":
		return answer.StateFailed
	case t.Fate.Outcome == "cancel":
		return set.Canceled
	}
	return answer.StateSucceeded
}

// ended is when the task reached its last state.
func (t *Task) ended() time.Time {
	switch {
	case !t.canceled.IsZero():
		return t.canceled
	case t.Fate.Outcome == "fail_pending":
		return t.start
	}
	return t.end
}

// times are when the task started and ended as a query in that state may tell; zero is untold. A state of Fate.States
// tells no time to come.
func (t *Task) times(state string, now time.Time) (start, end time.Time) {
	waits := state == answer.StatePending || state == answer.StateSuspended
	if !waits && t.canceled.IsZero() {
		start = earlier(t.start, now)
	}
	if !waits && state != answer.StateRunning {
		end = earlier(t.ended(), now)
	}
	return start, end
}

func earlier(a, b time.Time) time.Time {
	if a.After(b) {
		return b
	}
	return a
}

// failed is how many of a successful task's images failed.
func (t *Task) failed() int {
	if t.Fate.Outcome != "partial" {
		return 0
	}
	return min(max(t.Fate.Failed, 1), t.Count)
}

// imageCount returns the images that usage counts in a final state, or nil.
func (t *Task) imageCount(state string) *int {
	switch {
	case t.Fate.NoImageCount:
		return nil
	case t.Fate.ImageCount == nil && state == answer.StateSucceeded:
		return new(t.Count - t.failed())
	}
	return t.Fate.ImageCount
}

// owed is how many images a task in this state costs.
func (t *Task) owed(state string) int {
	switch n := t.imageCount(state); {
	case n != nil:
		return *n
	case state == answer.StateSucceeded:
		return t.Count - t.failed()
	}
	return 0
}

// complaint is why the task, or an image of it, failed.
func (t *Task) complaint() (code, message string) {
	return cmp.Or(t.Fate.Code, "InternalError"), cmp.Or(t.Fate.Message, "The image could not be made.")
}
