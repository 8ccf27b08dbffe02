package openai

import "strconv"

// appendFirst appends what the first delta of a choice has in addition: the role, and an empty content if no content follows.
func appendFirst(dst []byte, content, calls bool) []byte {
	dst = append(dst, `"role":"assistant"`...)
	switch {
	case content:
		return dst
	case calls:
		return append(dst, `,"content":null`...)
	}
	return append(dst, `,"content":""`...)
}

// appendText appends a member with a raw text.
func appendText(dst []byte, name string, text []byte) []byte {
	dst = append(append(append(next(dst), '"'), name...), `":"`...)
	return append(append(dst, text...), '"')
}

// appendCalls appends what is new in the tool calls of a choice.
func (s *Stream) appendCalls(dst []byte, p *progress, calls []byte) []byte {
	from := len(dst)
	position := 0
	for list := walkArray(calls); list.element(); position++ {
		now := readCall(list.value, position)
		now.alone = position == 0 && !list.more()
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
	for list := walkArray(find(logprobs, "content")); list.element(); position++ {
		if position >= p.logprobs {
			dst = append(next(dst), list.value...)
		}
	}
	p.logprobs = max(p.logprobs, position)
	return append(dst, "]}"...)
}
