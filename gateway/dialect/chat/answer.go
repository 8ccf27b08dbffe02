package chat

import (
	"strconv"

	"sluice/gateway/conversation"
	"sluice/gateway/openai"
	"sluice/gateway/rawjson"
)

// Answer writes the answer to one chat, as a chat.completion or as a stream of chat.completion.chunks. It is a
// [conversation.Dialect].
type Answer struct {
	usage bool // stream_options.include_usage: a stream ends with a chunk that has the usage
	head  conversation.Head
	chunk []byte // what every chunk begins with, up to its choices
	tail  string // what every chunk ends with, from the end of its choices
}

// Begin implements [conversation.Dialect].
func (a *Answer) Begin(head conversation.Head) {
	a.head = head
	a.chunk = append(a.begin(append(a.chunk[:0], "data: "...), "chat.completion.chunk"), `,"choices":[`...)
	a.tail = "]}\n\n"
	if a.usage {
		a.tail = `],"usage":null}` + "\n\n"
	}
}

// begin appends the opening brace and the members up to the choices.
func (a *Answer) begin(dst []byte, object string) []byte {
	dst = rawjson.Quote(append(dst, `{"id":`...), "chatcmpl-"+a.head.ID)
	dst = append(append(append(dst, `,"object":"`...), object...), `","created":`...)
	dst = strconv.AppendInt(dst, a.head.Created, 10)
	return rawjson.Quote(append(dst, `,"model":`...), a.head.Model)
}

// Delta implements [conversation.Dialect]. Each choice has a chunk of its own, because some clients read only the first choice of a
// chunk.
func (a *Answer) Delta(dst []byte, news *conversation.Delta) []byte {
	dst = strconv.AppendInt(append(append(dst, a.chunk...), `{"index":`...), int64(news.Choice), 10)
	dst = append(dst, `,"delta":{`...)
	if news.First { // clients expect a content in the first delta, and none beside a call
		dst = append(dst, `"role":"assistant"`...)
		switch {
		case len(news.Text) > 0:
		case news.Calling:
			dst = append(dst, `,"content":null`...)
		default:
			dst = append(dst, `,"content":""`...)
		}
	}
	if len(news.Text) > 0 {
		dst = rawjson.AppendText(dst, "content", news.Text)
	}
	if len(news.Thinking) > 0 {
		dst = rawjson.AppendText(dst, "reasoning_content", news.Thinking)
	}
	if len(news.Calls) > 0 {
		dst = append(rawjson.Name(dst, "tool_calls"), '[')
		for i := range news.Calls {
			dst = appendCall(rawjson.Next(dst), &news.Calls[i])
		}
		dst = append(dst, ']')
	}
	dst = rawjson.AppendOrNull(append(dst, `},"finish_reason":`...), news.Finish)
	dst = rawjson.AppendOrNull(append(dst, `,"logprobs":`...), news.Logprobs)
	return append(append(dst, '}'), a.tail...)
}

// appendCall appends what is new in a call. Its id, type and name appear only once, because clients join the pieces.
func appendCall(dst []byte, call *conversation.CallDelta) []byte {
	dst = strconv.AppendInt(append(dst, `{"index":`...), int64(call.Index), 10)
	if call.ID != nil {
		dst = append(rawjson.AppendText(dst, "id", call.ID), `,"type":"function"`...)
	}
	dst = append(dst, `,"function":{`...)
	if call.Name != nil {
		dst = rawjson.AppendText(dst, "name", call.Name)
	}
	return append(rawjson.AppendText(dst, "arguments", call.Arguments), "}}"...)
}

// Close implements [conversation.Dialect].
func (a *Answer) Close(dst []byte, usage *conversation.Usage) []byte {
	if a.usage && usage.Known() {
		dst = appendUsage(append(append(dst, a.chunk...), `],"usage":`...), usage)
		dst = append(dst, "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

// Fail implements [conversation.Dialect].
func (a *Answer) Fail(dst []byte, refused *conversation.Refusal) []byte {
	return append(openai.AppendError(append(dst, "data: "...), refused), "\n\n"...)
}

// Whole implements [conversation.Dialect].
func (a *Answer) Whole(dst []byte, answer *conversation.Answer) []byte {
	dst = append(a.begin(dst, "chat.completion"), `,"choices":[`...)
	for i := range answer.Choices {
		dst = appendChoice(rawjson.Next(dst), &answer.Choices[i])
	}
	dst = append(dst, ']')
	if u := answer.Usage(); u.Known() {
		dst = appendUsage(append(dst, `,"usage":`...), &u)
	}
	return append(dst, '}')
}

// appendChoice appends the whole choice.
func appendChoice(dst []byte, c *conversation.Choice) []byte {
	dst = strconv.AppendInt(append(dst, `{"index":`...), int64(c.Index), 10)
	dst = append(dst, `,"message":{"role":"assistant","content":`...)
	called := c.Called()
	if c.Text == nil || called && len(c.Text) == 0 {
		dst = append(dst, "null"...)
	} else {
		dst = append(append(append(dst, '"'), c.Text...), '"')
	}
	if len(c.Thinking) > 0 {
		dst = append(append(append(dst, `,"reasoning_content":"`...), c.Thinking...), '"')
	}
	if called {
		dst = append(dst, `,"tool_calls":[`...)
		for call := range c.Calls {
			dst = call.AppendTo(rawjson.Next(dst))
		}
		dst = append(dst, ']')
	}
	dst = rawjson.AppendOrNull(append(dst, `},"finish_reason":`...), c.Finish)
	dst = rawjson.AppendOrNull(append(dst, `,"logprobs":`...), c.Logprobs)
	return append(dst, '}')
}

func appendUsage(dst []byte, u *conversation.Usage) []byte {
	return u.AppendTo(dst, "prompt_tokens", "completion_tokens", false)
}
