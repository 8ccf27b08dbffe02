package simulator

import "time"

// States of a task.
const (
	statePending   = "PENDING"
	stateRunning   = "RUNNING"
	stateSucceeded = "SUCCEEDED"
	stateFailed    = "FAILED"
	stateCanceled  = "CANCELED" // with one L, unlike interface.md
	stateUnknown   = "UNKNOWN"
)

// task is one asynchronous image task. Nothing runs: its state is computed from the clock, its fate and a cancel.
type task struct {
	series
	id      string
	account string
	request string // id of the creation
	model   string
	prompt  string
	actual  string // the rewritten prompt
	count   int    // requested images
	story   *story // of an interleaved task, else nil
	modern  bool   // generation 2.6: results in choices, and FAILED with code and message at top level
	live    bool   // its stream is still being sent
	fate    FaultTask

	created, start, end time.Time
	canceled            time.Time // zero: not canceled
	billed              bool
}

// state returns the task's state at now.
func (t *task) state(now time.Time) string {
	switch {
	case now.Sub(t.created) >= lifetime:
		return stateUnknown
	case !t.canceled.IsZero():
		return stateCanceled
	case t.live:
		return stateRunning
	case now.Before(t.start):
		return statePending
	case t.fate.Outcome == "fail_pending":
		return stateFailed
	case now.Before(t.end), t.fate.Outcome == "never":
		return stateRunning
	case t.fate.Outcome == "fail":
		return stateFailed
	case t.fate.Outcome == "cancel":
		return stateCanceled
	}
	return stateSucceeded
}

// ended returns when the task reached its last state.
func (t *task) ended() time.Time {
	switch {
	case !t.canceled.IsZero():
		return t.canceled
	case t.fate.Outcome == "fail_pending":
		return t.start
	}
	return t.end
}

// times returns when a task in this state started and ended; zero: it did not.
func (t *task) times(state string) (start, end time.Time) {
	if state == statePending {
		return start, end
	}
	if t.canceled.IsZero() {
		start = t.start
	}
	if state != stateRunning {
		end = t.ended()
	}
	return start, end
}

// failed returns how many of a successful task's images failed.
func (t *task) failed() int {
	if t.fate.Outcome != "partial" {
		return 0
	}
	return min(max(t.fate.Failed, 1), t.count)
}

// counted returns how many images of a successful task are counted and billed.
func (t *task) counted() int {
	if t.fate.ImageCount != nil {
		return *t.fate.ImageCount
	}
	return t.count - t.failed()
}

// describe returns the answer to a query of the task in this state, with this id.
func (t *task) describe(state, id, requestID string) *reply {
	start, end := t.times(state)
	out := output{
		TaskID: id, Status: state, Submit: stamp(t.created), Scheduled: stamp(start), End: stamp(end), Finished: new(!end.IsZero()),
	}
	r := &reply{RequestID: requestID}
	switch {
	case state == stateSucceeded:
		t.results(&out)
		r.Usage = t.usage()
	case state == stateFailed && t.modern:
		r.Code, r.Message = taskCode, taskMessage
	case state == stateFailed:
		out.Code, out.Message, out.Metrics = taskCode, taskMessage, &metrics{Total: t.count, Failed: t.count}
	}
	r.Output = out
	return r
}

// taskCode and taskMessage explain why a task, or an image of it, failed.
const (
	taskCode    = "InternalError"
	taskMessage = "The image could not be made."
)

// stamp formats a time as in task answers: in UTC+8 without a zone; zero is "".
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(zone).Format("2006-01-02 15:04:05.000")
}

var zone = time.FixedZone("UTC+8", 8*60*60)

// results sets the images of a successful task.
func (t *task) results(out *output) {
	failed := t.failed()
	if failed > 0 || !t.modern {
		out.Metrics = &metrics{Total: t.count, Succeeded: t.count - failed, Failed: failed}
	}
	if t.story != nil {
		out.Choices = []choice{t.story.choice(t.ended())}
		return
	}
	for i := range t.count {
		address := t.address(i, t.ended())
		switch {
		case i >= t.count-failed:
			out.Results = append(out.Results, result{Code: taskCode, Message: taskMessage})
		case t.modern:
			out.Choices = append(out.Choices, finished(part{Type: "image", Image: address}))
		default:
			out.Results = append(out.Results, result{OrigPrompt: t.prompt, ActualPrompt: t.actual, URL: address})
		}
	}
}

// usage returns the usage of a successful task.
func (t *task) usage() imageUsage {
	u := imageUsage{Total: new(0), Input: new(0), Output: new(0), Size: t.size.String()}
	switch {
	case t.story != nil:
		u = t.story.total()
	case !t.modern:
		u = imageUsage{}
	}
	u.Count = nil
	if !t.fate.NoImageCount {
		u.Count = new(t.counted())
	}
	return u
}
