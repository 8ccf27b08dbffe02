package task

import (
	"time"

	"sluice/gateway/simulator/answer"
)

// Answer tells the state of a task that this query sees. A task that is unknown, foreign or expired is answered like
// any other. told is the id to answer with.
func (ts *Store) Answer(id, told, requestID string, now time.Time) *answer.Reply {
	t, state := ts.query(id, now)
	out := answer.Output{TaskID: told, Status: state}
	r := &answer.Reply{RequestID: requestID}
	if t != nil && state != answer.StateUnknown {
		ts.describe(t, now, &out)
		r.Usage = t.usage(state)
		if t.Modern {
			r.Code, r.Message, out.Code, out.Message = out.Code, out.Message, "", ""
		}
	}
	r.Output = out
	return r
}

// describe fills in the members of a task in the state in out.
func (ts *Store) describe(t *Task, now time.Time, out *answer.Output) {
	start, end := t.times(out.Status, now)
	out.Submit, out.Scheduled, out.End = ts.stamp(t.created), ts.stamp(start), ts.stamp(end)
	out.Finished = new(!end.IsZero())
	switch out.Status {
	case answer.StateFailed:
		out.Code, out.Message = t.complaint()
		if !t.Choices {
			out.Metrics = &answer.Metrics{Total: t.Count, Failed: t.Count}
		}
	case answer.StateSucceeded:
		t.results(out)
	}
}

// stamp writes a time as task answers do, zero as nothing.
func (ts *Store) stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(ts.set.Zone).Format(ts.set.TimeLayout)
}

// results fills in the images of a successful task in its form.
func (t *Task) results(out *answer.Output) {
	code, message := t.complaint()
	failed := t.failed()
	if failed > 0 || !t.Choices {
		out.Metrics = &answer.Metrics{Total: t.Count, Succeeded: t.Count - failed, Failed: failed}
	}
	if t.Story != nil {
		story := *t.Story // other queries read it too
		story.Made = t.ended()
		out.Choices = []answer.Choice{story.Choice()}
		return
	}
	for i := range t.Count {
		address := t.Easel.Address(i, t.ended())
		switch {
		case i >= t.Count-failed:
			out.Results = append(out.Results, answer.Result{Code: code, Message: message})
		case t.Choices:
			out.Choices = append(out.Choices, answer.ImageChoice(answer.Part{Type: "image", Image: address}))
		default:
			out.Results = append(out.Results, answer.Result{OrigPrompt: t.Prompt, ActualPrompt: t.Actual, URL: address})
		}
	}
}

// usage is the usage of a task in a final state, or nil.
func (t *Task) usage(state string) any {
	count := t.imageCount(state)
	switch {
	case count == nil && state != answer.StateSucceeded:
		return nil
	case !t.Choices:
		return answer.ImageUsage{Count: count}
	case t.Story != nil:
		u := t.Story.Total()
		u.Count = count
		return u
	}
	return answer.ImageUsage{Total: new(0), Input: new(0), Output: new(0), Count: count, Size: t.Easel.Size.String()}
}
