package openai

import "strconv"

// Head is what all answers to one chat request begin with.
type Head struct {
	ID      string // the request's
	Created int64  // seconds of Unix time
	Model   string // as the client named it
}

// appendTo appends the opening brace and the members up to the choices.
func (h *Head) appendTo(dst []byte, object string) []byte {
	dst = quoted(append(dst, `{"id":`...), "chatcmpl-"+h.ID)
	dst = append(append(append(dst, `,"object":"`...), object...), `","created":`...)
	dst = strconv.AppendInt(dst, h.Created, 10)
	return quoted(append(dst, `,"model":`...), h.Model)
}

// AppendCompletion appends the service's answer to a chat as a chat.completion. If the answer is an error or cannot be read,
// it appends nothing and returns a [*Refusal].
func AppendCompletion(dst []byte, head Head, native []byte) ([]byte, error) {
	var a answer
	switch ok := a.read(native); {
	case ok && a.failed():
		return dst, ReadRefusal(500, native)
	case !ok || len(a.choices) == 0:
		return dst, unreadable()
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

// appendChoice appends the whole choice.
func (c *choice) appendChoice(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"index":`...), int64(c.index), 10)
	dst = append(dst, `,"message":{"role":"assistant","content":`...)
	calls := walkArray(c.calls)
	called := calls.more()
	if c.content == nil || called && len(c.content) == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = append(append(append(dst, '"'), c.content...), '"')
	}
	if len(c.reasoning) > 0 {
		dst = append(append(append(dst, `,"reasoning_content":"`...), c.reasoning...), '"')
	}
	if called {
		dst = append(c.appendCalls(append(dst, `,"tool_calls":[`...)), ']')
	}
	dst = rawOrNull(append(dst, `},"finish_reason":`...), c.finish)
	dst = rawOrNull(append(dst, `,"logprobs":`...), c.logprobs)
	return append(dst, '}')
}

func (c *choice) appendCalls(dst []byte) []byte {
	position := 0
	for calls := walkArray(c.calls); calls.element(); position++ {
		call := readCall(calls.value, position)
		dst = call.appendTo(next(dst))
	}
	return dst
}

func rawOrNull(dst, value []byte) []byte {
	if value == nil {
		value = []byte("null")
	}
	return append(dst, value...)
}
