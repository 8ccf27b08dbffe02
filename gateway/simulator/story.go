package simulator

import (
	"fmt"
	"iter"
	"time"
)

// story is an interleaved answer: a paragraph before every image. Like the
// real models it may hold fewer images than allowed.
type story struct {
	easel      easel
	paragraphs []string
	input      int64 // tokens of the prompt
	made       time.Time
}

// newStory tells a story about the prompt with at most so many images.
func newStory(e easel, prompt string, most int) *story {
	st := &story{easel: e, input: int64(tokens(prompt))}
	d := dice(e.seed)
	count := max(1, most-d.roll(2))
	v := voiceFor(prompt)
	first := d.roll(len(v.body))
	for i := range count {
		text := v.body[(first+i)%len(v.body)]
		if i == 0 {
			text = fmt.Sprintf(v.opening[0], v.quoted(prompt)) + v.space + text
		}
		st.paragraphs = append(st.paragraphs, text)
	}
	return st
}

// images is how many images the story holds.
func (st *story) images() int { return len(st.paragraphs) }

// choice holds all paragraphs and images in order.
func (st *story) choice() choice {
	var out []part
	for i, text := range st.paragraphs {
		out = append(out, part{Type: "text", Text: &text}, st.image(i))
	}
	return imageChoice(out...)
}

func (st *story) image(i int) part {
	return part{Type: "image", Image: st.easel.address(i, st.made)}
}

// usage is the usage once so many output tokens and images are told. Only
// images are billed; the size is unknown before the first.
func (st *story) usage(output, images int) imageUsage {
	u := imageUsage{
		Total: new(st.input + int64(output)), Input: &st.input, Output: new(int64(output)),
		Count: &images, Size: "0*0",
	}
	if images > 0 {
		u.Size = st.easel.size.String()
	}
	return u
}

// total is the usage of the whole story.
func (st *story) total() imageUsage {
	n := 0
	for _, text := range st.paragraphs {
		n += tokens(text)
	}
	return st.usage(n, st.images())
}

// answer tells the story in one document.
func (st *story) answer(requestID string) *reply {
	return &reply{Output: messageOutput{[]choice{st.choice()}}, Usage: st.total(), RequestID: requestID}
}

// frames streams the story, a few words or an image at a time. taskID is its
// task's on the asynchronous path, else empty.
func (st *story) frames(s style, taskID string) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		said := 0
		for i, text := range st.paragraphs {
			for len(text) > 0 {
				words, count := firstTokens(text, s.frameTokens)
				text = text[len(words):]
				said += count
				if !yield(st.frame(s, taskID, part{Type: "text", Text: &words}, said, i)) {
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
func (st *story) frame(s style, taskID string, p part, said, images int) frame {
	told, last := imageChoice(p), images == st.images()
	out := taskOutput{TaskID: taskID, Finished: &last}
	fr := frame{last: last}
	if taskID == "" {
		fr.spent = cost{images: int64(images)} // a task is billed by itself
	} else {
		out.Status = stateSucceeded
	}
	if !last {
		told.Finish = s.unfinished()
		if taskID != "" {
			out.Status = stateRunning
		}
	}
	out.Choices = []choice{told}
	fr.reply = reply{Output: out, Usage: st.usage(said, images), RequestID: s.requestID}
	return fr
}
