package simulator

import (
	"cmp"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/gallery"
	"sluice/gateway/simulator/task"
)

// newTask prepares the task of a valid creation.
func (s *Simulator) newTask(c *call, prompt string, e gallery.Easel) *task.Task {
	t := &task.Task{
		ID: newUUID(), Request: c.received.ID, Model: c.req.Model, Easel: e, Prompt: prompt, Actual: prompt,
		Count: c.req.Parameters().Integer("n", 4), Poll: c.fault.Poll,
	}
	t.Easel.Name = t.ID
	if c.req.Parameters().FlagOr("prompt_extend", true) {
		t.Actual = prompt + ", in soft morning light over still water, finely detailed"
	}
	if c.fault.Task != nil {
		t.Fate = *c.fault.Task
	}
	return t
}

// create keeps a task and answers its creation. What the task costs is billed when it ends.
func (s *Simulator) create(c *call, t *task.Task) answer.Answer {
	s.tasks.Add(t, c.received.At)
	out := answer.Output{TaskID: c.told(t.ID), Status: answer.StatePending}
	return answer.Answer{Doc: &answer.Reply{Output: out, RequestID: c.received.ID}, Work: true, Model: c.req.Model}
}

// told is the task id that the answer tells, which a fault may replace.
func (c *call) told(id string) string { return cmp.Or(c.fault.TaskID, id) }

// serveTask answers a query.
func (s *Simulator) serveTask(c *call) (answer.Answer, error) {
	id := c.to.taskID
	return answer.Answer{Doc: s.tasks.Answer(id, c.told(id), c.received.ID, c.received.At)}, nil
}

// serveCancel cancels a task that is still PENDING.
func (s *Simulator) serveCancel(c *call) (answer.Answer, error) {
	if !s.tasks.Cancel(c.to.taskID, c.received.At) {
		return answer.Answer{}, errNotQueued
	}
	return answer.Answer{Doc: &answer.Reply{RequestID: c.received.ID}}, nil
}

// serveList answers a page of the account's tasks.
func (s *Simulator) serveList(c *call) (answer.Answer, error) {
	list, err := s.tasks.List(c.r.URL.Query(), c.received.ID, c.received.At)
	return answer.Answer{Doc: list}, err
}
