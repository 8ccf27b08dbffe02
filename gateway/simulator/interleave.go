package simulator

import (
	"fmt"
	"iter"
	"time"
)

// story is an interleaved answer: a paragraph before every image. Fewer
// images than allowed may be told, as with the real models.
type story struct {
	easel      easel
	paragraphs []string
	input      int64 // tokens of the prompt
	made       time.Time
}

// newStory tells the story of a valid interleaved request.
func (s *Simulator) newStory(c *call) story {
	parameters := c.body.child("parameters")
	ask, _ := readAsk(c.body.child("input")) // judged by checkEdit
	st := story{
		easel: s.easel(c, ask.prompt, editSize(parameters.text("size"), ask.images, true)),
		input: int64(tokens(ask.prompt)),
		made:  c.now,
	}
	d := dice(st.easel.seed)
	most := parameters.integer("max_images", 5)
	count := max(1, most-d.roll(2))
	v := voiceFor(ask.prompt)
	first := d.roll(len(v.body))
	for i := range count {
		text := v.body[(first+i)%len(v.body)]
		if i == 0 {
			text = fmt.Sprintf(v.opening[0], v.quoted(ask.prompt)) + v.space + text
		}
		st.paragraphs = append(st.paragraphs, text)
	}
	return st
}

// parts are all paragraphs and images in order.
func (st story) parts() []part {
	var out []part
	for i, text := range st.paragraphs {
		out = append(out, part{Type: "text", Text: &text}, st.image(i))
	}
	return out
}

func (st story) image(i int) part {
	return part{Type: "image", Image: st.easel.address(i, st.made)}
}

// usage is the usage once so many output tokens and images are told. Only
// images are billed; the size is unknown before the first.
func (st story) usage(output, images int) imageUsage {
	out, total := int64(output), st.input+int64(output)
	u := imageUsage{Total: &total, Input: &st.input, Output: &out, Count: &images, Size: "0*0"}
	if images > 0 {
		u.Size = st.easel.size.String()
	}
	return u
}

// total is the usage of the whole story.
func (st story) total() imageUsage {
	n := 0
	for _, text := range st.paragraphs {
		n += tokens(text)
	}
	return st.usage(n, len(st.paragraphs))
}

// telling is one event of a story: a few words or an image.
type telling struct {
	part   part
	usage  imageUsage
	images int
	last   bool
}

// tell yields the story's events, n tokens at a time.
func (st story) tell(n int) iter.Seq[telling] {
	return func(yield func(telling) bool) {
		said := 0
		for i, text := range st.paragraphs {
			for len(text) > 0 {
				words, count := firstTokens(text, n)
				text = text[len(words):]
				said += count
				if !yield(telling{part: part{Type: "text", Text: &words}, usage: st.usage(said, i), images: i}) {
					return
				}
			}
			last := i == len(st.paragraphs)-1
			if !yield(telling{part: st.image(i), usage: st.usage(said, i+1), images: i + 1, last: last}) {
				return
			}
		}
	}
}

// serveInterleaved answers an interleaved request on the multimodal path.
func (s *Simulator) serveInterleaved(c *call) (answer, error) {
	if c.async {
		return answer{}, errNoAsync
	}
	if err := s.checkModel(c); err != nil {
		return answer{}, err
	}
	if err := checkEdit(c.body.child("input"), c.body.child("parameters"), true); err != nil {
		return answer{}, err
	}
	if err := s.checkStreams(c, c.body.child("parameters")); err != nil {
		return answer{}, err
	}
	st := s.newStory(c)
	a := answer{work: true, model: c.model, cost: cost{images: int64(len(st.paragraphs))}}
	if !c.sse {
		a.doc = &reply{Output: messageOutput{[]choice{imageChoice(&finishStop, st.parts()...)}}, Usage: st.total(), RequestID: c.id}
		return a, nil
	}
	a.frames = s.storyFrames(c, st, nil)
	return a, nil
}

// storyFrames streams a story; t is its task on the asynchronous path, or
// nil.
func (s *Simulator) storyFrames(c *call, st story, t *task) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		for e := range st.tell(s.cfg.FrameTokens) {
			finish, status := s.unfinished(), "RUNNING"
			if e.last {
				finish, status = &finishStop, "SUCCEEDED"
			}
			out := taskOutput{Choices: []choice{imageChoice(finish, e.part)}, Finished: &e.last}
			fr := frame{last: e.last, reply: reply{Usage: e.usage, RequestID: c.id}}
			if t != nil {
				out.TaskID, out.Status = c.fault.taskID(t.id), status
			} else {
				fr.spent = cost{images: int64(e.images)} // a task is billed by itself
			}
			fr.reply.Output = out
			if !yield(fr) {
				return
			}
		}
	}
}
