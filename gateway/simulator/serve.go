package simulator

import (
	"cmp"
	"strings"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/chat"
	"sluice/gateway/simulator/gallery"
	"sluice/gateway/simulator/picture"
	"sluice/gateway/simulator/prose"
	"sluice/gateway/simulator/rules"
	"sluice/gateway/simulator/task"
)

// serveText answers the text path.
func (s *Simulator) serveText(c *call) (answer.Answer, error) {
	if err := s.rules.Text(&c.req); err != nil {
		return answer.Answer{}, err
	}
	return s.chat(c, false), nil
}

// serveMultimodal answers the path that chat, synchronous images and interleaved streams share.
func (s *Simulator) serveMultimodal(c *call) (answer.Answer, error) {
	parameters := c.req.Parameters()
	switch {
	case rules.Matches(s.cfg.SyncImageModels, c.req.Model):
		return s.serveSyncImage(c)
	case rules.Matches(s.cfg.EditImageModels, c.req.Model) &&
		(c.req.SSE || parameters.Flag("stream") || parameters.Flag("enable_interleave")):
		return s.serveInterleaved(c)
	}
	if err := s.rules.Chat(&c.req); err != nil {
		return answer.Answer{}, err
	}
	return s.chat(c, true), nil
}

func (s *Simulator) chat(c *call, multimodal bool) answer.Answer {
	return chat.Answer(&c.req, chat.Settings{
		Style: s.style(c), MaxOutput: s.cfg.MaxOutput, Multimodal: multimodal,
		TextFormat: !multimodal && s.rules.ResultFormat(&c.req) == "text",
	})
}

// style is how the call's answer is told.
func (s *Simulator) style(c *call) answer.Style {
	return answer.Style{RequestID: c.id, FrameTokens: s.cfg.FrameTokens, NullFinish: s.cfg.NullFinish}
}

// serveSyncImage answers with images in the same response.
func (s *Simulator) serveSyncImage(c *call) (answer.Answer, error) {
	ask, err := s.rules.SyncImage(&c.req)
	if err != nil {
		return answer.Answer{}, err
	}
	n := c.req.Parameters().Integer("n", 1)
	e := s.easel(c, ask.Prompt, picture.SizeOr(c.req.Parameters().Text("size"), picture.DefaultSize))
	return answer.Answer{
		Doc: e.Answer(n, c.id, c.now), Work: true, Model: c.req.Model, Cost: answer.Cost{Images: int64(n)},
	}, nil
}

// serveInterleaved answers an interleaved request on the multimodal path.
func (s *Simulator) serveInterleaved(c *call) (answer.Answer, error) {
	ask, err := s.rules.Interleaved(&c.req)
	if err != nil {
		return answer.Answer{}, err
	}
	st := s.story(c, ask)
	a := answer.Answer{Work: true, Model: c.req.Model, Cost: answer.Cost{Images: int64(st.Images())}}
	if c.req.SSE {
		a.Frames = st.Frames(s.style(c), "")
	} else {
		a.Doc = st.Answer(c.id)
	}
	return a, nil
}

// serveImage creates a task on the asynchronous image path, and streams it if it is interleaved and a stream is asked
// for.
func (s *Simulator) serveImage(c *call) (answer.Answer, error) {
	ask, err := s.rules.AsyncImage(&c.req)
	if err != nil {
		return answer.Answer{}, err
	}
	parameters := c.req.Parameters()
	interleaved := parameters.Flag("enable_interleave") && rules.Matches(s.cfg.EditImageModels, c.req.Model)
	t := s.newTask(c, ask.Prompt, picture.EditSize(parameters.Text("size"), ask.Images, interleaved))
	t.Choices, t.Modern = true, true
	if !interleaved {
		return s.created(c, t), nil
	}
	t.Story = s.story(c, ask)
	t.Easel, t.Count, t.Live = t.Story.Easel, t.Story.Images(), c.req.SSE
	a := s.created(c, t)
	if c.req.SSE {
		a.Doc, a.Frames = nil, t.Story.Frames(s.style(c), c.told(t.ID))
		a.Ended = func() { s.tasks.Finish(t, s.cfg.Now()) }
	}
	return a, nil
}

// serveSynthesis creates a task on one of the older image paths.
func (s *Simulator) serveSynthesis(c *call) (answer.Answer, error) {
	if err := s.rules.Synthesis(&c.req); err != nil {
		return answer.Answer{}, err
	}
	prompt := prose.CutRunes(c.req.Input().Text("prompt"), rules.MaxPrompt)
	t := s.newTask(c, prompt, picture.SizeOr(c.req.Parameters().Text("size"), picture.DefaultSize))
	t.Modern = strings.HasPrefix(c.req.Model, "gen2.6")
	t.Choices = t.Modern
	return s.created(c, t), nil
}

// newTask prepares the task of a valid creation.
func (s *Simulator) newTask(c *call, prompt string, sz picture.Size) *task.Task {
	parameters := c.req.Parameters()
	t := &task.Task{
		ID: newUUID(), Request: c.id, Model: c.req.Model, Easel: s.easel(c, prompt, sz),
		Count: parameters.Integer("n", 4), Prompt: prompt, Actual: prompt, Poll: c.fault.Poll,
	}
	t.Easel.Name = t.ID
	if parameters.FlagOr("prompt_extend", true) {
		t.Actual = prompt + ", in soft morning light over still water, finely detailed"
	}
	if c.fault.Task != nil {
		t.Fate = *c.fault.Task
	}
	return t
}

// created keeps a task and answers its creation. What the task costs is billed when it ends.
func (s *Simulator) created(c *call, t *task.Task) answer.Answer {
	s.tasks.Add(t, c.now)
	out := answer.TaskOutput{TaskID: c.told(t.ID), Status: answer.StatePending}
	return answer.Answer{Doc: &answer.Reply{Output: out, RequestID: c.id}, Work: true, Model: c.req.Model}
}

// told is the task id that the answer tells, which a fault may replace.
func (c *call) told(id string) string { return cmp.Or(c.fault.TaskID, id) }

// story tells the story of a valid interleaved request.
func (s *Simulator) story(c *call, a rules.Ask) *gallery.Story {
	parameters := c.req.Parameters()
	e := s.easel(c, a.Prompt, picture.EditSize(parameters.Text("size"), a.Images, true))
	st := gallery.NewStory(e, a.Prompt, parameters.Integer("max_images", 5))
	st.Made = c.now
	return st
}

// easel prepares the images of a call.
func (s *Simulator) easel(c *call, prompt string, sz picture.Size) gallery.Easel {
	base := s.cfg.BaseURL
	if base == "" {
		scheme := "http"
		if c.r.TLS != nil {
			scheme = "https"
		}
		base = scheme + "://" + c.r.Host
	}
	return s.gallery.Easel(gallery.Order{Base: base, Name: c.id, Prompt: prompt, Size: sz, Parameters: c.req.Parameters()})
}

// serveTask answers a query.
func (s *Simulator) serveTask(c *call) (answer.Answer, error) {
	return answer.Answer{Doc: s.tasks.Answer(c.to.taskID, c.told(c.to.taskID), c.id, c.now)}, nil
}

// serveCancel cancels a task that is still PENDING.
func (s *Simulator) serveCancel(c *call) (answer.Answer, error) {
	if !s.tasks.Cancel(c.to.taskID, c.now) {
		return answer.Answer{}, errNotQueued
	}
	return answer.Answer{Doc: &answer.Reply{RequestID: c.id}}, nil
}

// serveList answers a page of the account's tasks.
func (s *Simulator) serveList(c *call) (answer.Answer, error) {
	list, err := s.tasks.List(c.r.URL.Query(), c.id, c.now)
	return answer.Answer{Doc: list}, err
}

// servePicture draws the image of an address.
func (s *Simulator) servePicture(c *call) (answer.Answer, error) {
	png, err := s.gallery.Draw(c.r.Context(), c.r.URL, c.now)
	if err != nil {
		return answer.Answer{}, errPicture
	}
	return answer.Answer{Raw: png, ContentType: "image/png"}, nil
}
