package openai

import "strconv"

// progress is what the client has of a choice.
type progress struct {
	index     int
	content   textProgress
	reasoning textProgress
	calls     []callProgress
	logprobs  int  // tokens of them
	started   bool // the client has the role
	finished  bool // the client has the finish_reason
}

// callProgress is what the client has of a tool call.
type callProgress struct {
	index     int
	arguments textProgress
	id, name  bool // sent, and not to be sent again: clients concatenate them
}

// progress finds the progress of a choice, or starts it.
func (s *Stream) progress(index int) *progress {
	for i := range s.choices {
		if s.choices[i].index == index {
			return &s.choices[i]
		}
	}
	s.choices = append(s.choices, progress{index: index})
	return &s.choices[len(s.choices)-1]
}

func (p *progress) call(index int) *callProgress {
	for i := range p.calls {
		if p.calls[i].index == index {
			return &p.calls[i]
		}
	}
	p.calls = append(p.calls, callProgress{index: index})
	return &p.calls[len(p.calls)-1]
}

// appendChunks appends a chunk for each choice of s.answer that has news. It makes one chunk per choice because some clients
// read only the first choice of a chunk.
func (s *Stream) appendChunks(dst []byte) []byte {
	for i := range s.answer.choices {
		now := &s.answer.choices[i]
		from := len(dst)
		var news bool
		if dst, news = s.appendChoice(append(dst, s.head...), now); !news {
			dst = dst[:from]
			continue
		}
		s.started = true
		dst = append(dst, s.tail...)
	}
	return dst
}

// appendChoice appends what is new in a choice and reports whether anything is.
func (s *Stream) appendChoice(dst []byte, now *choice) ([]byte, bool) {
	p := s.progress(now.index)
	dst = strconv.AppendInt(append(dst, `{"index":`...), int64(now.index), 10)
	dst = append(dst, `,"delta":{`...)
	from := len(dst)
	content := p.content.delta(&s.mode, now.content)
	calls := walkArray(now.calls)
	if !p.started {
		dst = appendFirst(dst, len(content) > 0, calls.more())
		from = len(dst)
	}
	if len(content) > 0 {
		dst = appendText(dst, "content", content)
	}
	if reasoning := p.reasoning.delta(&s.mode, now.reasoning); len(reasoning) > 0 {
		dst = appendText(dst, "reasoning_content", reasoning)
	}
	dst = s.appendCalls(dst, p, now.calls)
	finish := now.finish
	if p.finished {
		finish = nil
	}
	news := len(dst) > from || finish != nil
	if !news {
		return dst, false
	}
	p.started, p.finished = true, p.finished || finish != nil
	dst = rawOrNull(append(dst, `},"finish_reason":`...), finish)
	dst = s.appendLogprobs(append(dst, `,"logprobs":`...), p, now.logprobs)
	return append(dst, '}'), true
}
