package simulator

import "time"

// taskOutput is a task on the wire.
type taskOutput struct {
	TaskID    string       `json:"task_id,omitempty"`
	Status    string       `json:"task_status,omitempty"`
	Submit    string       `json:"submit_time,omitempty"`
	Scheduled string       `json:"scheduled_time,omitempty"`
	End       string       `json:"end_time,omitempty"`
	Finished  *bool        `json:"finished,omitempty"`
	Choices   []choice     `json:"choices,omitempty"`
	Results   []taskResult `json:"results,omitempty"`
	Metrics   *taskMetrics `json:"task_metrics,omitempty"`
	Code      string       `json:"code,omitempty"`
	Message   string       `json:"message,omitempty"`
}

// taskResult is one image of the older style, or why there is none.
type taskResult struct {
	OrigPrompt   string `json:"orig_prompt,omitempty"`
	ActualPrompt string `json:"actual_prompt,omitempty"`
	URL          string `json:"url,omitempty"`
	Code         string `json:"code,omitempty"`
	Message      string `json:"message,omitempty"`
}

type taskMetrics struct {
	Total     int `json:"TOTAL"`
	Succeeded int `json:"SUCCEEDED"`
	Failed    int `json:"FAILED"`
}

// serveTask answers a query. A task that is unknown, foreign or over is
// answered 200 all the same.
func (s *Simulator) serveTask(c *call) (answer, error) {
	t, state := s.tasks.look(c.taskID, c.now)
	out := taskOutput{TaskID: c.fault.taskID(c.taskID), Status: state}
	r := &reply{RequestID: c.id}
	if t != nil && state != stateUnknown {
		s.describe(t, c.now, &out)
		r.Usage = t.usage(state)
		if t.modern {
			r.Code, r.Message, out.Code, out.Message = out.Code, out.Message, "", ""
		}
	}
	r.Output = out
	return answer{doc: r}, nil
}

// describe fills in what the task tells in the state that stands in out.
func (s *Simulator) describe(t *task, now time.Time, out *taskOutput) {
	out.Submit = s.stamp(t.created)
	finished := false
	out.Finished = &finished
	switch out.Status {
	case statePending, stateSuspended:
		return
	case stateRunning:
		out.Scheduled = s.stamp(earlier(t.start, now))
		return
	}
	finished = true
	if t.canceled.IsZero() {
		out.Scheduled = s.stamp(earlier(t.start, now))
	}
	out.End = s.stamp(earlier(t.ended(), now))
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
func (s *Simulator) stamp(t time.Time) string {
	return t.In(s.cfg.Zone).Format(s.cfg.TimeLayout)
}

// earlier keeps dictated states from telling times to come.
func earlier(t, now time.Time) time.Time {
	if t.After(now) {
		return now
	}
	return t
}

// results fills in the images of a successful task in its style.
func (t *task) results(out *taskOutput) {
	code, message := t.complaint()
	failed := t.failed()
	if failed > 0 || !t.choices {
		out.Metrics = &taskMetrics{Total: t.count, Succeeded: t.count - failed, Failed: failed}
	}
	if t.story != nil {
		t.story.made = t.ended()
		out.Choices = []choice{imageChoice(&finishStop, t.story.parts()...)}
		return
	}
	for i := range t.count {
		address := t.easel.address(i, t.ended())
		switch {
		case i >= t.count-failed:
			out.Results = append(out.Results, taskResult{Code: code, Message: message})
		case t.choices:
			out.Choices = append(out.Choices, imageChoice(&finishStop, part{Type: "image", Image: address}))
		default:
			out.Results = append(out.Results, taskResult{OrigPrompt: t.prompt, ActualPrompt: t.actual, URL: address})
		}
	}
}

// usage is the usage of a task in a final state, or nil.
func (t *task) usage(state string) any {
	count := t.imageCount(state)
	if count == nil && state != stateSucceeded {
		return nil
	}
	if !t.choices {
		return imageUsage{Count: count}
	}
	if t.story != nil {
		u := t.story.total()
		u.Count = count
		return u
	}
	var zero int64
	return imageUsage{Total: &zero, Input: &zero, Output: &zero, Count: count, Size: t.easel.size.String()}
}

// serveCancel cancels a task that is still waiting.
func (s *Simulator) serveCancel(c *call) (answer, error) {
	if !s.tasks.cancel(c.taskID, c.now) {
		return answer{}, errNotQueued
	}
	return answer{doc: &reply{RequestID: c.id}}, nil
}
