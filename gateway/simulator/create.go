package simulator

import (
	"crypto/rand"
	"strings"
)

// serveImage creates a task on the asynchronous image path, and streams it if
// it is interleaved and a stream is asked for.
func (s *Simulator) serveImage(c *call) (answer, error) {
	if err := s.checkImage(c); err != nil {
		return answer{}, err
	}
	parameters := c.body.child("parameters")
	ask, _ := readAsk(c.body.child("input")) // judged above
	t := s.newTask(c, ask.prompt, editSize(parameters.text("size"), ask.images, false))
	t.choices, t.modern = true, true
	if !parameters.flag("enable_interleave") || !matches(s.cfg.EditImageModels, c.model) {
		s.tasks.add(t, c.now)
		return s.created(c, t), nil
	}
	st := s.newStory(c)
	t.story, t.count, t.live = &st, len(st.paragraphs), c.sse
	t.easel = st.easel
	s.tasks.add(t, c.now)
	if !c.sse {
		return s.created(c, t), nil
	}
	return answer{
		work: true, model: c.model, frames: s.storyFrames(c, st, t),
		ended: func() { s.tasks.finish(t, s.cfg.Now()) },
	}, nil
}

// serveSynthesis creates a task on one of the older image paths.
func (s *Simulator) serveSynthesis(c *call) (answer, error) {
	if err := s.checkSynthesis(c); err != nil {
		return answer{}, err
	}
	sz, ok := parseSize(c.body.child("parameters").text("size"))
	if !ok {
		sz = defaultSize
	}
	t := s.newTask(c, cutRunes(c.body.child("input").text("prompt"), maxPrompt), sz)
	t.modern = strings.HasPrefix(c.model, "gen2.6")
	t.choices = t.modern
	s.tasks.add(t, c.now)
	return s.created(c, t), nil
}

// newTask prepares the task of a valid creation.
func (s *Simulator) newTask(c *call, prompt string, sz size) *task {
	parameters := c.body.child("parameters")
	var id [16]byte
	rand.Read(id[:]) // never fails, see its documentation
	t := &task{
		id: formatUUID(id), request: c.id, model: c.model, easel: s.easel(c, prompt, sz),
		count: parameters.integer("n", 4), prompt: prompt, actual: prompt, poll: c.fault.Poll,
	}
	t.easel.name = t.id
	if parameters.flagOr("prompt_extend", true) {
		t.actual = prompt + ", in soft morning light over still water, finely detailed"
	}
	if c.fault.Task != nil {
		t.fate = *c.fault.Task
	}
	return t
}

// created is the answer to a creation. What it costs is billed when the task
// ends.
func (s *Simulator) created(c *call, t *task) answer {
	out := taskOutput{TaskID: c.fault.taskID(t.id), Status: statePending}
	return answer{doc: &reply{Output: out, RequestID: c.id}, work: true, model: c.model}
}

// taskID is the id an answer tells, which a fault may replace.
func (f *Fault) taskID(id string) string {
	if f.TaskID != "" {
		return f.TaskID
	}
	return id
}
