package openai

import (
	"bytes"
	"slices"
	"strconv"
)

// progress is what the client has of a choice.
type progress struct {
	index     int
	content   textProgress
	reasoning textProgress
	calls     []callProgress
	latest    int  // index of the call that the last frame continued
	compared  int  // the same for the comparison of frames, which is ahead of the chunks
	logprobs  int  // tokens of them
	started   bool // the client has the role
	finished  bool // the client has the finish_reason
}

// callProgress is what the client has of a tool call.
type callProgress struct {
	index     int
	arguments textProgress
	known     []byte // its id
	id, name  bool   // sent, and not to be sent again: clients concatenate them
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

// call finds the progress of a call, or starts it. latest is the index of the call before, and becomes that of this one. A call
// without a number is the one with its id. Without an id it continues the call before, if the frame has no other.
func (p *progress) call(now *call, latest *int) *callProgress {
	index := now.index
	switch {
	case now.numbered:
	case len(now.id) > 0:
		index = p.identify(now)
	case now.alone:
		index = *latest
	}
	*latest = index
	at := slices.IndexFunc(p.calls, func(c callProgress) bool { return c.index == index })
	if at < 0 {
		at = len(p.calls)
		p.calls = append(p.calls, callProgress{index: index})
	}
	if found := &p.calls[at]; len(found.known) == 0 {
		found.known = append(found.known, now.id...)
	}
	return &p.calls[at]
}

// identify returns the index of the call with the id of now, or of a new one: that of its position, unless another call has it.
func (p *progress) identify(now *call) (index int) {
	index = now.index
	for i := range p.calls {
		switch before := &p.calls[i]; {
		case bytes.Equal(before.known, now.id):
			return before.index
		case len(before.known) > 0:
			index = max(index, before.index+1)
		}
	}
	return index
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
	if !p.started { // clients expect a content in the first delta, and none beside a call
		dst = append(dst, `"role":"assistant"`...)
		switch {
		case len(content) > 0:
		case now.calls != nil && !isEmpty(now.calls):
			dst = append(dst, `,"content":null`...)
		default:
			dst = append(dst, `,"content":""`...)
		}
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

// appendCalls appends what is new in the tool calls of a choice.
func (s *Stream) appendCalls(dst []byte, p *progress, calls []byte) []byte {
	from := len(dst)
	position := 0
	alone := length(calls) == 1
	for r := array(calls); r.Element(); position++ {
		now := readCall(r.Value(), position)
		now.alone = alone
		before := p.call(&now, &p.latest)
		arguments := before.arguments.delta(&s.mode, now.arguments)
		id, name := len(now.id) > 0 && !before.id, len(now.name) > 0 && !before.name
		if !id && !name && len(arguments) == 0 {
			continue
		}
		if len(dst) == from {
			dst = append(named(dst, "tool_calls"), '[')
		}
		before.id, before.name = before.id || id, before.name || name
		dst = strconv.AppendInt(append(next(dst), `{"index":`...), int64(before.index), 10)
		if id {
			dst = append(appendText(dst, "id", now.id), `,"type":"function"`...)
		}
		dst = append(dst, `,"function":{`...)
		if name {
			dst = appendText(dst, "name", now.name)
		}
		dst = append(appendText(dst, "arguments", arguments), "}}"...)
	}
	if len(dst) > from {
		dst = append(dst, ']')
	}
	return dst
}

// appendLogprobs appends the log probabilities of the new tokens.
func (s *Stream) appendLogprobs(dst []byte, p *progress, logprobs []byte) []byte {
	if logprobs == nil || s.mode.decided && !s.mode.cumulative {
		return rawOrNull(dst, logprobs)
	}
	dst = append(dst, `{"content":[`...)
	position := 0
	for r := array(find(logprobs, "content")); r.Element(); position++ {
		if value := r.Value(); position >= p.logprobs {
			dst = append(next(dst), value...)
		}
	}
	p.logprobs = max(p.logprobs, position)
	return append(dst, "]}"...)
}
