package simulator

import (
	"time"

	"sluice/gateway/simulator/picture"
)

// serveSyncImage answers with images in the same response.
func serveSyncImage(c *call, p *pictures) (*answer, error) {
	if err := checkSyncImage(c); err != nil {
		return nil, err
	}
	in := readImageInput(c.input)
	s := p.series(c, c.ID, in.prompt, picture.SizeOfText(get[string](c.param, "size")))
	n := integer(c.param, "n", 1)
	var out output
	for i := range n {
		out.Choices = append(out.Choices, finished(part{Image: s.address(i, c.At)}))
	}
	usage := imageUsage{Width: s.size.W, Height: s.size.H, Count: &n}
	return &answer{doc: &reply{Output: out, Usage: usage, RequestID: c.ID}, worked: true, cost: s.cost(n)}, nil
}

// serveInterleaved answers an interleaved request on the multimodal path.
func serveInterleaved(c *call, p *pictures) (*answer, error) {
	if err := checkInterleaved(c, false); err != nil {
		return nil, err
	}
	st := newStory(c, p, c.ID)
	frames := func(yield func(frame) bool) { st.stream(c, "", yield) }
	return &answer{frames: frames, worked: true, cost: st.cost(len(st.paragraphs))}, nil
}

// story is an interleaved answer: a paragraph before every image. Like the real models it may have fewer images than allowed.
type story struct {
	series
	paragraphs []string
	input      int // tokens of the prompt
}

// newStory makes a story about the prompt of a valid request.
func newStory(c *call, p *pictures, name string) *story {
	in := readImageInput(c.input)
	size := picture.SizeOfEdit(get[string](c.param, "size"), in.images, true)
	st := &story{series: p.series(c, name, in.prompt, size), input: tokens(in.prompt)}
	d := dice(st.seed)
	count := max(1, integer(c.param, "max_images", 5)-d.roll(2))
	st.paragraphs = paragraphs(in.prompt, count, &d)
	return st
}

// choice returns all paragraphs and images in order.
func (st *story) choice(made time.Time) choice {
	var out []part
	for i, text := range st.paragraphs {
		out = append(out, part{Type: "text", Text: &text}, part{Type: "image", Image: st.address(i, made)})
	}
	return finished(out...)
}

// usage returns the usage after this many output tokens and images. Only images are billed; the size is 0*0 before the first.
func (st *story) usage(output, images int) imageUsage {
	u := imageUsage{Total: new(st.input + output), Input: &st.input, Output: &output, Count: &images, Size: "0*0"}
	if images > 0 {
		u.Size = st.size.String()
	}
	return u
}

// total returns the usage of the whole story.
func (st *story) total() imageUsage {
	n := 0
	for _, text := range st.paragraphs {
		n += tokens(text)
	}
	return st.usage(n, len(st.paragraphs))
}

// stream streams the story, a few words or an image at a time. taskID is empty on the synchronous path.
func (st *story) stream(c *call, taskID string, yield func(frame) bool) {
	said := 0
	for i, text := range st.paragraphs {
		for words, count := range pieces(text, c.cfg.FrameTokens) {
			said += count
			if !yield(st.frame(c, taskID, part{Type: "text", Text: &words}, st.usage(said, i))) {
				return
			}
		}
		if !yield(st.frame(c, taskID, part{Type: "image", Image: st.address(i, c.At)}, st.usage(said, i+1))) {
			return
		}
	}
}

// frame returns the frame of one part, with the usage after it.
func (st *story) frame(c *call, taskID string, p part, usage imageUsage) frame {
	said, last := finished(p), *usage.Count == len(st.paragraphs)
	if !last {
		said.Finish = unfinished
	}
	out := output{TaskID: taskID, Choices: []choice{said}, Finished: &last}
	f := frame{last: last}
	switch {
	case taskID == "":
		f.spent = st.cost(*usage.Count) // a task is billed by itself
	case last:
		out.Status = stateSucceeded
	default:
		out.Status = stateRunning
	}
	f.reply = reply{Output: out, Usage: usage, RequestID: c.ID}
	return f
}
