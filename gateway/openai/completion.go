package openai

import "strconv"

// Head is what all answers to one chat request begin with.
type Head struct {
	ID      string // the request's
	Created int64  // seconds of Unix time
	Model   string // as the client named it
}

// appendTo appends the opening brace and the members before the choices.
func (h *Head) appendTo(dst []byte, object string) []byte {
	dst = quoted(append(dst, `{"id":`...), "chatcmpl-"+h.ID)
	dst = append(append(append(dst, `,"object":"`...), object...), `","created":`...)
	dst = strconv.AppendInt(dst, h.Created, 10)
	return quoted(append(dst, `,"model":`...), h.Model)
}

// AppendCompletion appends the service's answer to a chat as a chat.completion. It fails, with a [*Refusal], where the answer
// cannot be read; nothing is appended then.
func AppendCompletion(dst []byte, head Head, native []byte) ([]byte, error) {
	object, ok := readAnswer(native)
	if !ok {
		return dst, errAnswer
	}
	var a answer
	a.read(object)
	if len(a.choices) == 0 {
		return dst, errAnswer
	}
	dst = append(head.appendTo(dst, "chat.completion"), `,"choices":[`...)
	for i := range a.choices {
		dst = a.choices[i].appendChoice(next(dst))
	}
	dst = append(dst, ']')
	if u := readUsage(a.usage); u.known() {
		dst = u.appendTo(append(dst, `,"usage":`...))
	}
	return append(dst, '}'), nil
}

// appendChoice appends a whole choice.
func (s *said) appendChoice(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"index":`...), int64(s.index), 10)
	dst = append(dst, `,"message":{"role":"assistant","content":`...)
	calls := walkArray(s.calls)
	called := calls.more()
	if s.content == nil || called && len(s.content) == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = append(append(append(dst, '"'), s.content...), '"')
	}
	if len(s.reasoning) > 0 {
		dst = append(append(append(dst, `,"reasoning_content":"`...), s.reasoning...), '"')
	}
	if called {
		dst = append(s.appendCalls(append(dst, `,"tool_calls":[`...)), ']')
	}
	dst = rawOrNull(append(dst, `},"finish_reason":`...), s.finish)
	dst = rawOrNull(append(dst, `,"logprobs":`...), s.logprobs)
	return append(dst, '}')
}

func (s *said) appendCalls(dst []byte) []byte {
	position := 0
	for calls := walkArray(s.calls); calls.element(); position++ {
		c := readCall(calls.value, position)
		dst = c.appendTo(next(dst))
	}
	return dst
}

func rawOrNull(dst, value []byte) []byte {
	if value == nil {
		value = []byte("null")
	}
	return append(dst, value...)
}
