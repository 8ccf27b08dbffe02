package gallery

import (
	"iter"
	"time"

	"sluice/gateway/simulator/answer"
	"sluice/gateway/simulator/prose"
)

// Story is an interleaved answer: a paragraph before every image. Like the real models it may hold fewer images than
// allowed.
type Story struct {
	Easel      Easel
	Made       time.Time // from when on the addresses of its images are valid
	paragraphs []string
	input      int // tokens of the prompt
}

// NewStory tells a story about the prompt with at most so many images.
func NewStory(e Easel, prompt string, most int) *Story {
	d := prose.Dice(e.Seed)
	count := max(1, most-d.Roll(2))
	return &Story{Easel: e, paragraphs: prose.Paragraphs(prompt, count, &d), input: prose.Tokens(prompt)}
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

// usage is the usage once so many output tokens and images are told. Only images are billed; the size is unknown
// before the first.
func (st *Story) usage(output, images int) answer.ImageUsage {
	u := answer.ImageUsage{
		Total: new(st.input + output), Input: &st.input, Output: &output, Count: &images, Size: "0*0",
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
				if !yield(st.frame(s, taskID, answer.Part{Type: "text", Text: &words}, st.usage(said, i))) {
					return
				}
			}
			if !yield(st.frame(s, taskID, st.image(i), st.usage(said, i+1))) {
				return
			}
		}
	}
}

// frame tells one part, after which that usage is reached.
func (st *Story) frame(s answer.Style, taskID string, part answer.Part, usage answer.ImageUsage) answer.Frame {
	choice, last := answer.ImageChoice(part), *usage.Count == st.Images()
	if !last {
		choice.Finish = s.Unfinished()
	}
	out := answer.Output{TaskID: taskID, Choices: []answer.Choice{choice}, Finished: &last}
	fr := answer.Frame{Last: last}
	switch {
	case taskID == "":
		fr.Spent = answer.Cost{Images: int64(*usage.Count)} // a task is billed by itself
	case last:
		out.Status = answer.StateSucceeded
	default:
		out.Status = answer.StateRunning
	}
	fr.Reply = answer.Reply{Output: out, Usage: usage, RequestID: s.RequestID}
	return fr
}
