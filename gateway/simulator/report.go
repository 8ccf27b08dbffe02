package simulator

import "time"

// answer tells the state of a task that this query sees. A task that is
// unknown, foreign or expired is answered like any other. told is the id to
// answer with.
func (ts *tasks) answer(id, told, requestID string, now time.Time) *reply {
	t, state := ts.look(id, now)
	out := taskOutput{TaskID: told, Status: state}
	r := &reply{RequestID: requestID}
	if t != nil && state != stateUnknown {
		ts.describe(t, now, &out)
		r.Usage = t.usage(state)
		if t.modern {
			r.Code, r.Message, out.Code, out.Message = out.Code, out.Message, "", ""
		}
	}
	r.Output = out
	return r
}

// describe fills in what the task tells in the state that stands in out.
func (ts *tasks) describe(t *task, now time.Time, out *taskOutput) {
	out.Submit = ts.stamp(t.created)
	waits, runs := out.Status == statePending || out.Status == stateSuspended, out.Status == stateRunning
	out.Finished = new(!waits && !runs)
	if runs || !waits && t.canceled.IsZero() {
		out.Scheduled = ts.stamp(earlier(t.start, now))
	}
	if waits || runs {
		return
	}
	out.End = ts.stamp(earlier(t.ended(), now))
	switch out.Status {
	case stateFailed:
		out.Code, out.Message = t.complaint()
		if !t.choices {
			out.Metrics = &taskMetrics{Total: t.count, Failed: t.count}
		}
	case stateSucceeded:
		t.results(out)
	}
}

// stamp writes a time as task answers do.
func (ts *tasks) stamp(t time.Time) string {
	return t.In(ts.set.zone).Format(ts.set.timeLayout)
}

// earlier keeps dictated states from telling times to come.
func earlier(t, now time.Time) time.Time {
	if t.After(now) {
		return now
	}
	return t
}

// results fills in the images of a successful task in its form.
func (t *task) results(out *taskOutput) {
	code, message := t.complaint()
	failed := t.failed()
	if failed > 0 || !t.choices {
		out.Metrics = &taskMetrics{Total: t.count, Succeeded: t.count - failed, Failed: failed}
	}
	if t.story != nil {
		t.story.made = t.ended()
		out.Choices = []choice{t.story.choice()}
		return
	}
	for i := range t.count {
		address := t.easel.address(i, t.ended())
		switch {
		case i >= t.count-failed:
			out.Results = append(out.Results, taskResult{Code: code, Message: message})
		case t.choices:
			out.Choices = append(out.Choices, imageChoice(part{Type: "image", Image: address}))
		default:
			out.Results = append(out.Results, taskResult{OrigPrompt: t.prompt, ActualPrompt: t.actual, URL: address})
		}
	}
}

// usage is the usage of a task in a final state, or nil.
func (t *task) usage(state string) any {
	count := t.imageCount(state)
	switch {
	case count == nil && state != stateSucceeded:
		return nil
	case !t.choices:
		return imageUsage{Count: count}
	case t.story != nil:
		u := t.story.total()
		u.Count = count
		return u
	}
	var zero int64
	return imageUsage{Total: &zero, Input: &zero, Output: &zero, Count: count, Size: t.easel.size.String()}
}
