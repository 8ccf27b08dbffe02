package messages

import (
	"strconv"
	"strings"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
)

// Answer writes the answer to one request, as a message or as the events of its stream. It is a [conversation.Dialect].
type Answer struct {
	head   conversation.Head
	begun  bool          // message_start is written
	blocks []answerBlock // of a stream
	turn   int           // the number of the block that is written now, or next
	calls  bool          // the answer has a call
	finish []byte        // the service's word, a raw string
}

// Begin implements [conversation.Dialect].
func (a *Answer) Begin(head conversation.Head) {
	*a = Answer{head: head, blocks: a.blocks[:0], finish: a.finish[:0]}
}

// Whole implements [conversation.Dialect].
func (a *Answer) Whole(dst []byte, answer *conversation.Answer) []byte {
	c := &answer.Choices[0] // more are not asked for
	dst = append(a.appendHead(dst), `,"content":[`...)
	number := 0 // of the block
	if len(c.Thinking) > 0 {
		dst = append(rawjson.AppendText(append(rawjson.Next(dst), `{"type":"thinking"`...), "thinking", c.Thinking), `,"signature":""}`...)
		number++
	}
	if len(c.Text) > 0 {
		dst = append(rawjson.AppendText(append(rawjson.Next(dst), `{"type":"text"`...), "text", c.Text), '}')
		number++
	}
	for call := range c.Calls {
		dst = append(append(a.appendCall(rawjson.Next(dst), &call, number), input(&call)...), '}')
		number++
	}
	dst = append(append(append(dst, `],"stop_reason":"`...), stopReason(c.Finish, c.Called())...), `","stop_sequence":null,"usage":`...)
	usage := answer.Usage()
	return append(appendUsage(dst, &usage), '}')
}

// appendHead appends the members up to the content.
func (a *Answer) appendHead(dst []byte) []byte {
	dst = append(append(append(dst, `{"id":"msg_`...), a.head.ID...), `","type":"message","role":"assistant","model":`...)
	return rawjson.Quote(dst, a.head.Model)
}

// appendCall appends a block of a call, up to the input. Its number makes an id for a call without one.
func (a *Answer) appendCall(dst []byte, call *conversation.Call, number int) []byte {
	id := call.ID
	if len(id) == 0 {
		id = strconv.AppendInt(append(append([]byte("toolu_"), a.head.ID...), '_'), int64(number), 10)
	}
	dst = rawjson.AppendText(append(dst, `{"type":"tool_use"`...), "id", id)
	return append(rawjson.AppendText(dst, "name", call.Name), `,"input":`...)
}

// input is a tool's input as an object. Arguments that are no object become its only member.
func input(call *conversation.Call) []byte {
	switch value := call.Input(); {
	case rawjson.Kind(value) == '{':
		return value
	case len(call.Arguments) == 0:
		return []byte("{}")
	}
	return append(rawjson.AppendText([]byte("{"), "arguments", call.Arguments), '}')
}

// stopReason is Anthropic's word for how an answer ended. The service does not say which of several stops it was. An answer with calls ends
// with tool_use, even if the service calls that a stop, as OpenAI does where a call was forced: clients answer calls only after this word.
func stopReason(finish []byte, called bool) string {
	switch {
	case rawjson.IsWord(finish, "length"):
		return "max_tokens"
	case rawjson.IsWord(finish, "content_filter"):
		return "refusal"
	case rawjson.IsWord(finish, "tool_calls"), called && rawjson.IsWord(finish, "stop"):
		return "tool_use"
	}
	return "end_turn"
}

// appendUsage appends the usage. Anthropic counts cached tokens apart from the rest of the input.
func appendUsage(dst []byte, u *conversation.Usage) []byte {
	cached, created := u.Cached.N, u.Created.N
	dst = conversation.AppendCount(append(dst, '{'), "input_tokens", max(u.Input()-cached-created, 0))
	dst = conversation.AppendCount(dst, "cache_creation_input_tokens", created)
	dst = conversation.AppendCount(dst, "cache_read_input_tokens", cached)
	return append(conversation.AppendCount(dst, "output_tokens", u.Output()), '}')
}

// AppendErrorOf is [AppendError] for one request.
func AppendErrorOf(id string) func(dst []byte, r *conversation.Refusal) []byte {
	return func(dst []byte, r *conversation.Refusal) []byte { return AppendError(dst, id, r) }
}

// AppendError appends {"type":"error","error":{"type","message"},"request_id"}. id is the request's. The message begins with the member at
// fault, which has no other place in this form.
func AppendError(dst []byte, id string, r *conversation.Refusal) []byte {
	kind := r.Kind("api_error")
	switch r.Status {
	case 413:
		kind = "request_too_large"
	case 503:
		kind = "overloaded_error"
	}
	dst = rawjson.Quote(append(dst, `{"type":"error","error":{"type":`...), kind)
	message := r.Message
	if !strings.HasPrefix(strings.TrimPrefix(message, `"`), r.Param) {
		message = r.Param + ": " + message
	}
	dst = rawjson.Quote(append(dst, `,"message":`...), message)
	return append(rawjson.Quote(append(dst, `},"request_id":`...), id), '}')
}
