package messages

import (
	"strconv"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
)

// Delta implements [conversation.Dialect].
func (a *Answer) Delta(dst []byte, news *conversation.Delta) []byte {
	if news.Choice != 0 { // more than one is not asked for
		return dst
	}
	if !a.begun {
		a.begun = true
		dst = a.appendHead(append(conversation.Event(dst, "message_start", ""), `,"message":`...))
		dst = append(dst, `,"content":[],"stop_reason":null,"stop_sequence":null,"usage":`...)
		dst = append(appendUsage(dst, news.Usage), "}}\n\n"...)
	}
	if len(news.Thinking) > 0 {
		dst = a.sayInTurn(dst, "thinking", news.Thinking)
	}
	if len(news.Text) > 0 {
		dst = a.sayInTurn(dst, "text", news.Text)
	}
	for i := range news.Calls {
		dst = a.call(dst, &news.Calls[i])
	}
	if news.Finish != nil {
		a.finish = append(a.finish[:0], news.Finish...)
	}
	return dst
}

// Close implements [conversation.Dialect].
func (a *Answer) Close(dst []byte, usage *conversation.Usage) []byte {
	dst = a.endBlock(dst)
	for i := range a.later {
		it := &a.later[i]
		if it.kind == "tool_use" {
			dst = a.beginCall(dst, &it.call)
			dst = a.endBlock(a.piece(dst, "input_json_delta", "partial_json", it.call.Arguments))
			continue
		}
		dst = a.endBlock(a.say(dst, it.kind, it.call.Arguments))
	}
	dst = append(conversation.Event(dst, "message_delta", ""), `,"delta":{"stop_reason":"`...)
	dst = append(append(dst, stopReason(a.finish, a.calls)...), `","stop_sequence":null},"usage":`...)
	dst = append(appendUsage(dst, usage), "}\n\n"...)
	return append(conversation.Event(dst, "message_stop", ""), "}\n\n"...)
}

// Fail implements [conversation.Dialect].
func (a *Answer) Fail(dst []byte, refused *conversation.Refusal) []byte {
	return append(AppendError(append(dst, "event: error\ndata: "...), a.head.ID, refused), "\n\n"...)
}

// sayInTurn writes a piece of thinking or text, or keeps it for later while a call is open, which may still go on.
func (a *Answer) sayInTurn(dst []byte, kind string, piece []byte) []byte {
	if a.open != "tool_use" {
		return a.say(dst, kind, piece)
	}
	if last := len(a.later) - 1; last < 0 || a.later[last].kind != kind {
		a.later = append(a.later, later{kind: kind})
	}
	known := &a.later[len(a.later)-1].call
	known.Arguments = append(known.Arguments, piece...)
	return dst
}

// say writes a piece of thinking or text, in a block of this kind.
func (a *Answer) say(dst []byte, kind string, piece []byte) []byte {
	if a.open != kind {
		dst = a.beginBlock(a.endBlock(dst), kind)
		dst = append(append(append(append(append(dst, `{"type":"`...), kind...), `","`...), kind...), `":""`...)
		if kind == "thinking" {
			dst = append(dst, `,"signature":""`...)
		}
		dst = append(dst, "}}\n\n"...)
	}
	delta := "text_delta"
	if kind == "thinking" {
		delta = "thinking_delta"
	}
	return a.piece(dst, delta, kind, piece)
}

// call writes what is new in a call. The first call with a name is written as it arrives. Blocks follow each other, but the service may go
// on with a call after the next has begun, so the other calls wait for the end.
func (a *Answer) call(dst []byte, news *conversation.CallDelta) []byte {
	a.calls = true
	if a.called == 0 && len(news.Name) > 0 && len(a.later) == 0 {
		a.called = news.Index + 1
		dst = a.beginCall(a.endBlock(dst), &news.Call)
	}
	if a.called == news.Index+1 {
		return a.piece(dst, "input_json_delta", "partial_json", news.Arguments)
	}
	known := a.waiting(news.Index)
	known.ID, known.Name = append(known.ID, news.ID...), append(known.Name, news.Name...)
	known.Arguments = append(known.Arguments, news.Arguments...)
	return dst
}

// waiting finds a call that waits, or adds it.
func (a *Answer) waiting(index int) *conversation.Call {
	for i := range a.later {
		if it := &a.later[i]; it.kind == "tool_use" && it.index == index {
			return &it.call
		}
	}
	a.later = append(a.later, later{kind: "tool_use", index: index})
	return &a.later[len(a.later)-1].call
}

func (a *Answer) beginCall(dst []byte, call *conversation.Call) []byte {
	return append(appendCall(a.beginBlock(dst, "tool_use"), call), "{}}}\n\n"...)
}

func (a *Answer) beginBlock(dst []byte, kind string) []byte {
	a.open = kind
	a.blocks++
	return append(a.event(dst, "content_block_start"), `,"content_block":`...)
}

func (a *Answer) endBlock(dst []byte) []byte {
	if a.open == "" {
		return dst
	}
	a.open = ""
	return append(a.event(dst, "content_block_stop"), "}\n\n"...)
}

// piece writes a piece of the open block.
func (a *Answer) piece(dst []byte, delta, member string, text []byte) []byte {
	if len(text) == 0 {
		return dst
	}
	dst = append(append(append(a.event(dst, "content_block_delta"), `,"delta":{"type":"`...), delta...), '"')
	return append(rawjson.AppendText(dst, member, text), "}}\n\n"...)
}

// event begins an event about the last block.
func (a *Answer) event(dst []byte, name string) []byte {
	dst = append(conversation.Event(dst, name, ""), `,"index":`...)
	return strconv.AppendInt(dst, int64(a.blocks-1), 10)
}
