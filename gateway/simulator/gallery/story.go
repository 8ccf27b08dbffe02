package gallery

import (
	"fmt"
	"iter"
	"time"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/dice"
	"sluice/gateway/simulator/prose"
)

// Story is an interleaved answer: a paragraph before every image. Like the real models it may hold fewer images than
// allowed.
type Story struct {
	Easel      Easel
	paragraphs []string
	input      int64 // tokens of the prompt
	Made       time.Time
}

// NewStory tells a story about the prompt with at most so many images.
func NewStory(e Easel, prompt string, most int) *Story {
	st := &Story{Easel: e, input: int64(prose.Tokens(prompt))}
	d := dice.Dice(e.seed)
	count := max(1, most-d.Roll(2))
	v := prose.VoiceFor(prompt)
	first := d.Roll(len(v.Body))
	for i := range count {
		text := v.Body[(first+i)%len(v.Body)]
		if i == 0 {
			text = fmt.Sprintf(v.Opening[0], v.Quoted(prompt)) + v.Space + text
		}
		st.paragraphs = append(st.paragraphs, text)
	}
	return st
}

// Images is how many images the story holds.
func (st *Story) Images() int { return len(st.paragraphs) }

// Choice holds all paragraphs and images in order.
func (st *Story) Choice() answer.Choice {
	var out []answer.Part
	for i, text := range st.paragraphs {
		out = append(out, answer.Part{Type: "text", Text: &text}, st.image(i))
	}
	return answer.ImageChoice(out...)
}

func (st *Story) image(i int) answer.Part {
	return answer.Part{Type: "image", Image: st.Easel.Address(i, st.Made)}
}

// usage is the usage once so many output tokens and images are told. Only images are billed; the size is unknown before
// the first.
func (st *Story) usage(output, images int) answer.ImageUsage {
	u := answer.ImageUsage{
		Total: new(st.input + int64(output)), Input: &st.input, Output: new(int64(output)),
		Count: &images, Size: "0*0",
	}
	if images > 0 {
		u.Size = st.Easel.Size.String()
	}
	return u
}

// Total is the usage of the whole story.
func (st *Story) Total() answer.ImageUsage {
	n := 0
	for _, text := range st.paragraphs {
		n += prose.Tokens(text)
	}
	return st.usage(n, st.Images())
}

// Answer tells the story in one document.
func (st *Story) Answer(requestID string) *answer.Reply {
	return &answer.Reply{Output: answer.Output{Choices: []answer.Choice{st.Choice()}}, Usage: st.Total(), RequestID: requestID}
}

// Frames streams the story, a few words or an image at a time. taskID is its task's on the asynchronous path, else
// empty.
func (st *Story) Frames(s answer.Style, taskID string) iter.Seq[answer.Frame] {
	return func(yield func(answer.Frame) bool) {
		said := 0
		for i, text := range st.paragraphs {
			for len(text) > 0 {
				words, count := prose.FirstTokens(text, s.FrameTokens)
				text = text[len(words):]
				said += count
				if !yield(st.frame(s, taskID, answer.Part{Type: "text", Text: &words}, said, i)) {
					return
				}
			}
			if !yield(st.frame(s, taskID, st.image(i), said, i+1)) {
				return
			}
		}
	}
}

// frame tells one part, after which so many tokens and images are told.
func (st *Story) frame(s answer.Style, taskID string, p answer.Part, said, images int) answer.Frame {
	told, last := answer.ImageChoice(p), images == st.Images()
	out := answer.Output{TaskID: taskID, Finished: &last}
	fr := answer.Frame{Last: last}
	if taskID == "" {
		fr.Spent = answer.Cost{Images: int64(images)} // a task is billed by itself
	} else {
		out.Status = answer.StateSucceeded
	}
	if !last {
		told.Finish = s.Unfinished()
		if taskID != "" {
			out.Status = answer.StateRunning
		}
	}
	out.Choices = []answer.Choice{told}
	fr.Reply = answer.Reply{Output: out, Usage: st.usage(said, images), RequestID: s.RequestID}
	return fr
}
