package simulator

import (
	"strings"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/gallery"
	"sluice/gateway/simulator/picture"
	"sluice/gateway/simulator/prose"
	"sluice/gateway/simulator/rules"
)

// serveSyncImage answers with images in the same response.
func (s *Simulator) serveSyncImage(c *call) (answer.Answer, error) {
	drawing, err := s.rules.SyncImage(&c.req)
	if err != nil {
		return answer.Answer{}, err
	}
	n := c.req.Parameters().Integer("n", 1)
	doc := s.easel(c, drawing.Prompt, c.plainSize()).Answer(n, c.received.ID, c.received.At)
	return answer.Answer{Doc: doc, Work: true, Model: c.req.Model, Cost: answer.Cost{Images: int64(n)}}, nil
}

// serveInterleaved answers an interleaved request on the multimodal path.
func (s *Simulator) serveInterleaved(c *call) (answer.Answer, error) {
	drawing, err := s.rules.Interleaved(&c.req)
	if err != nil {
		return answer.Answer{}, err
	}
	st := s.story(c, drawing)
	a := answer.Answer{Work: true, Model: c.req.Model, Cost: answer.Cost{Images: int64(st.Images())}}
	if c.req.SSE {
		a.Frames = st.Frames(s.style(c), "")
	} else {
		a.Doc = st.Answer(c.received.ID)
	}
	return a, nil
}

// serveImage creates a task on the asynchronous image path, and streams it if it is interleaved and the request wants a
// stream.
func (s *Simulator) serveImage(c *call) (answer.Answer, error) {
	drawing, err := s.rules.AsyncImage(&c.req)
	if err != nil {
		return answer.Answer{}, err
	}
	interleaved := c.req.Parameters().Flag("enable_interleave") && rules.Matches(s.cfg.EditImageModels, c.req.Model)
	if !interleaved {
		t := s.newTask(c, drawing.Prompt, s.easel(c, drawing.Prompt, c.editSize(drawing, false)))
		t.Choices, t.Modern = true, true
		return s.create(c, t), nil
	}
	st := s.story(c, drawing)
	t := s.newTask(c, drawing.Prompt, st.Easel)
	t.Choices, t.Modern, t.Story, t.Count, t.Live = true, true, st, st.Images(), c.req.SSE
	a := s.create(c, t)
	if c.req.SSE {
		a.Doc, a.Frames = nil, st.Frames(s.style(c), c.told(t.ID))
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
	t := s.newTask(c, prompt, s.easel(c, prompt, c.plainSize()))
	t.Modern = strings.HasPrefix(c.req.Model, "gen2.6")
	t.Choices = t.Modern
	return s.create(c, t), nil
}

// plainSize is the size of images that edit no other.
func (c *call) plainSize() picture.Size {
	return picture.SizeOfText(c.req.Parameters().Text("size"))
}

// editSize is the size of edited or interleaved images.
func (c *call) editSize(drawing rules.Drawing, interleaved bool) picture.Size {
	return picture.SizeOfEdit(c.req.Parameters().Text("size"), drawing.Images, interleaved)
}

// story tells the story of a valid interleaved request.
func (s *Simulator) story(c *call, drawing rules.Drawing) *gallery.Story {
	e := s.easel(c, drawing.Prompt, c.editSize(drawing, true))
	st := gallery.NewStory(e, drawing.Prompt, c.req.Parameters().Integer("max_images", 5))
	st.Made = c.received.At
	return st
}

// easel prepares the images of a call.
func (s *Simulator) easel(c *call, prompt string, size picture.Size) gallery.Easel {
	base := s.cfg.BaseURL
	if base == "" {
		scheme := "http"
		if c.r.TLS != nil {
			scheme = "https"
		}
		base = scheme + "://" + c.r.Host
	}
	p := c.req.Parameters()
	return gallery.Easel{
		Gallery: s.gallery, Base: base, Name: c.received.ID, Seed: gallery.Seed(prompt, p.Integer("seed", -1)),
		Size: size, Watermark: p.Flag("watermark"),
	}
}

// servePicture draws the image of an address.
func (s *Simulator) servePicture(c *call) (answer.Answer, error) {
	png, err := s.gallery.Draw(c.r.Context(), c.r.URL, c.received.At)
	if err != nil {
		return answer.Answer{}, errPicture
	}
	return answer.Answer{Raw: png, ContentType: "image/png"}, nil
}
