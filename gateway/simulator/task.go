package simulator

import "time"

// task is one asynchronous image task. Its state is worked out from the clock
// at each look; only a cancel, a look and the end of its stream change it,
// under the lock of tasks.
type task struct {
	id      string
	request string // id of the creation
	model   string
	choices bool // result style: choices, else results
	modern  bool // FAILED puts code and message at top level
	easel   easel
	count   int    // images asked for
	story   *story // interleaved, else nil
	prompt  string
	actual  string // the prompt as rewritten

	fate FaultTask
	poll *Fault

	created, start, end time.Time
	canceled            time.Time // zero: not
	live                bool      // its stream is still being sent
	looks               int
	billed              bool
}

// state is what the task is in at now.
func (t *task) state(now time.Time, set *taskSettings) string {
	switch {
	case now.Sub(t.created) >= set.ttl:
		return stateUnknown
	case !t.canceled.IsZero():
		return set.canceled
	case t.live:
		return stateRunning
	case now.Before(t.start) && t.fate.Outcome == "suspend":
		return stateSuspended
	case now.Before(t.start):
		return statePending
	case t.fate.Outcome == "fail_pending":
		return stateFailed
	case now.Before(t.end), t.fate.Outcome == "never":
		return stateRunning
	case t.fate.Outcome == "fail":
		return stateFailed
	case t.fate.Outcome == "cancel":
		return set.canceled
	}
	return stateSucceeded
}

// ended is when the task reached its last state.
func (t *task) ended() time.Time {
	switch {
	case !t.canceled.IsZero():
		return t.canceled
	case t.fate.Outcome == "fail_pending":
		return t.start
	}
	return t.end
}

// failed is how many of a successful task's images failed.
func (t *task) failed() int {
	if t.fate.Outcome != "partial" {
		return 0
	}
	return min(max(t.fate.Failed, 1), t.count)
}

// imageCount is what usage tells in a final state, or nil.
func (t *task) imageCount(state string) *int {
	n := t.count - t.failed()
	switch {
	case t.fate.NoImageCount:
		return nil
	case t.fate.ImageCount != nil:
		return t.fate.ImageCount
	case state != stateSucceeded:
		return nil
	}
	return &n
}

// owed is how many images a task in this state costs.
func (t *task) owed(state string) int {
	switch n := t.imageCount(state); {
	case n != nil:
		return *n
	case state == stateSucceeded:
		return t.count - t.failed()
	}
	return 0
}

// complaint is why the task, or an image of it, failed.
func (t *task) complaint() (code, message string) {
	code, message = t.fate.Code, t.fate.Message
	if code == "" {
		code = "InternalError"
	}
	if message == "" {
		message = "The image could not be made."
	}
	return code, message
}
