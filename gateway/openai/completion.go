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
	called := c.calls != nil && !isEmpty(c.calls)
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
	for r := array(c.calls); r.Element(); position++ {
		call := readCall(r.Value(), position)
		dst = call.appendTo(next(dst))
	}
	return dst
}

// appendTo appends the whole call.
func (c *call) appendTo(dst []byte) []byte {
	dst = append(append(dst, `{"id":"`...), c.id...)
	dst = append(append(dst, `","type":"function","function":{"name":"`...), c.name...)
	dst = append(append(dst, `","arguments":"`...), c.arguments...)
	return append(dst, `"}}`...)
}

// usage is the service's count of tokens, each number raw; nil means absent. An unreadable number counts as absent: an answer
// that is paid for must not fail for it.
type usage struct {
	in, out, sum      []byte
	cached, reasoning []byte
}

func readUsage(value []byte) (u usage) {
	var flat []byte
	for r := object(value); r.Member(); {
		switch string(r.Name) {
		case "input_tokens":
			u.in = r.Value()
		case "output_tokens":
			u.out = r.Value()
		case "total_tokens":
			u.sum = r.Value()
		case "cached_tokens":
			flat = r.Value()
		case "prompt_tokens_details":
			u.cached = member(&r, "cached_tokens")
		case "output_tokens_details":
			u.reasoning = member(&r, "reasoning_tokens")
		}
	}
	for _, count := range [...]*[]byte{&u.in, &u.out, &u.sum, &u.cached, &u.reasoning, &flat} {
		if !isCount(*count) {
			*count = nil
		}
	}
	if u.cached == nil {
		u.cached = flat
	}
	return u
}

// isCount reports whether a value is a number of tokens: at most 15 digits, which a client's float64 holds exactly.
func isCount(value []byte) bool {
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(value) <= 15
}

func (u *usage) known() bool { return u.in != nil || u.out != nil || u.sum != nil }

func (u *usage) input() []byte  { return orZero(u.in) }
func (u *usage) output() []byte { return orZero(u.out) }

// total is the service's total, or the sum of the parts.
func (u *usage) total() []byte {
	if u.sum != nil {
		return u.sum
	}
	in, _ := strconv.ParseInt(string(u.in), 10, 64)
	out, _ := strconv.ParseInt(string(u.out), 10, 64)
	return strconv.AppendInt(nil, in+out, 10)
}

func orZero(count []byte) []byte {
	if count == nil {
		return []byte("0")
	}
	return count
}

// appendTo appends the usage in the form of chats.
func (u *usage) appendTo(dst []byte) []byte {
	dst = append(append(dst, `{"prompt_tokens":`...), u.input()...)
	dst = append(append(dst, `,"completion_tokens":`...), u.output()...)
	dst = append(append(dst, `,"total_tokens":`...), u.total()...)
	if u.cached != nil {
		dst = append(append(append(dst, `,"prompt_tokens_details":{"cached_tokens":`...), u.cached...), '}')
	}
	if u.reasoning != nil {
		dst = append(append(append(dst, `,"completion_tokens_details":{"reasoning_tokens":`...), u.reasoning...), '}')
	}
	return append(dst, '}')
}
