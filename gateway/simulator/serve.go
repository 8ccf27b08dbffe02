package simulator

import (
	"cmp"
	"strings"
)

// serveText answers the text path.
func (s *Simulator) serveText(c *call) (answer, error) {
	if err := s.rules.checkText(&c.req); err != nil {
		return answer{}, err
	}
	return s.chat(c, false), nil
}

// serveMultimodal answers the path that chat, synchronous images and
// interleaved streams share.
func (s *Simulator) serveMultimodal(c *call) (answer, error) {
	parameters := c.req.parameters()
	switch {
	case matches(s.cfg.SyncImageModels, c.req.model):
		return s.serveSyncImage(c)
	case matches(s.cfg.EditImageModels, c.req.model) &&
		(c.req.sse || parameters.flag("stream") || parameters.flag("enable_interleave")):
		return s.serveInterleaved(c)
	}
	if err := s.rules.checkChat(&c.req); err != nil {
		return answer{}, err
	}
	return s.chat(c, true), nil
}

func (s *Simulator) chat(c *call, multimodal bool) answer {
	return answerChat(&c.req, chatSettings{
		style: s.style(c), maxOutput: s.cfg.MaxOutput, multimodal: multimodal,
		textFormat: !multimodal && s.rules.resultFormat(&c.req) == "text",
	})
}

// style is how the call's answer is told.
func (s *Simulator) style(c *call) style {
	return style{requestID: c.id, frameTokens: s.cfg.FrameTokens, nullFinish: s.cfg.NullFinish}
}

// serveSyncImage answers with images in the same response.
func (s *Simulator) serveSyncImage(c *call) (answer, error) {
	ask, err := s.rules.checkSyncImage(&c.req)
	if err != nil {
		return answer{}, err
	}
	n := c.req.parameters().integer("n", 1)
	e := s.easel(c, ask.prompt, sizeOr(c.req.parameters().text("size"), defaultSize))
	return answer{
		doc: e.answer(n, c.id, c.now), work: true, model: c.req.model, cost: cost{images: int64(n)},
	}, nil
}

// serveInterleaved answers an interleaved request on the multimodal path.
func (s *Simulator) serveInterleaved(c *call) (answer, error) {
	ask, err := s.rules.checkInterleaved(&c.req)
	if err != nil {
		return answer{}, err
	}
	st := s.story(c, ask)
	a := answer{work: true, model: c.req.model, cost: cost{images: int64(st.images())}}
	if c.req.sse {
		a.frames = st.frames(s.style(c), "")
	} else {
		a.doc = st.answer(c.id)
	}
	return a, nil
}

// serveImage creates a task on the asynchronous image path, and streams it if
// it is interleaved and a stream is asked for.
func (s *Simulator) serveImage(c *call) (answer, error) {
	ask, err := s.rules.checkImage(&c.req)
	if err != nil {
		return answer{}, err
	}
	parameters := c.req.parameters()
	interleaved := parameters.flag("enable_interleave") && matches(s.cfg.EditImageModels, c.req.model)
	t := s.newTask(c, ask.prompt, editSize(parameters.text("size"), ask.images, interleaved))
	t.choices, t.modern = true, true
	if !interleaved {
		return s.created(c, t), nil
	}
	t.story = s.story(c, ask)
	t.easel, t.count, t.live = t.story.easel, t.story.images(), c.req.sse
	a := s.created(c, t)
	if c.req.sse {
		a.doc, a.frames = nil, t.story.frames(s.style(c), c.told(t.id))
		a.ended = func() { s.tasks.finish(t, s.cfg.Now()) }
	}
	return a, nil
}

// serveSynthesis creates a task on one of the older image paths.
func (s *Simulator) serveSynthesis(c *call) (answer, error) {
	if err := s.rules.checkSynthesis(&c.req); err != nil {
		return answer{}, err
	}
	prompt := cutRunes(c.req.input().text("prompt"), maxPrompt)
	t := s.newTask(c, prompt, sizeOr(c.req.parameters().text("size"), defaultSize))
	t.modern = strings.HasPrefix(c.req.model, "gen2.6")
	t.choices = t.modern
	return s.created(c, t), nil
}

// newTask prepares the task of a valid creation.
func (s *Simulator) newTask(c *call, prompt string, sz size) *task {
	parameters := c.req.parameters()
	t := &task{
		id: newUUID(), request: c.id, model: c.req.model, easel: s.easel(c, prompt, sz),
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

// created keeps a task and answers its creation. What the task costs is
// billed when it ends.
func (s *Simulator) created(c *call, t *task) answer {
	s.tasks.add(t, c.now)
	out := taskOutput{TaskID: c.told(t.id), Status: statePending}
	return answer{doc: &reply{Output: out, RequestID: c.id}, work: true, model: c.req.model}
}

// told is the task id that the answer tells, which a fault may replace.
func (c *call) told(id string) string { return cmp.Or(c.fault.TaskID, id) }

// story tells the story of a valid interleaved request.
func (s *Simulator) story(c *call, a ask) *story {
	parameters := c.req.parameters()
	e := s.easel(c, a.prompt, editSize(parameters.text("size"), a.images, true))
	st := newStory(e, a.prompt, parameters.integer("max_images", 5))
	st.made = c.now
	return st
}

// easel prepares the images of a call.
func (s *Simulator) easel(c *call, prompt string, sz size) easel {
	base := s.cfg.BaseURL
	if base == "" {
		scheme := "http"
		if c.r.TLS != nil {
			scheme = "https"
		}
		base = scheme + "://" + c.r.Host
	}
	return s.gallery.easel(order{base: base, name: c.id, prompt: prompt, size: sz, parameters: c.req.parameters()})
}

// serveTask answers a query.
func (s *Simulator) serveTask(c *call) (answer, error) {
	return answer{doc: s.tasks.answer(c.to.taskID, c.told(c.to.taskID), c.id, c.now)}, nil
}

// serveCancel cancels a task that is still PENDING.
func (s *Simulator) serveCancel(c *call) (answer, error) {
	if !s.tasks.cancel(c.to.taskID, c.now) {
		return answer{}, errNotQueued
	}
	return answer{doc: &reply{RequestID: c.id}}, nil
}

// serveList answers a page of the account's tasks.
func (s *Simulator) serveList(c *call) (answer, error) {
	list, err := s.tasks.list(c.r.URL.Query(), c.id, c.now)
	return answer{doc: list}, err
}

// servePicture draws the image of an address.
func (s *Simulator) servePicture(c *call) (answer, error) {
	png, err := s.gallery.draw(c.r.Context(), c.r.URL, c.now)
	if err != nil {
		return answer{}, errPicture
	}
	return answer{raw: png, contentType: "image/png"}, nil
}
