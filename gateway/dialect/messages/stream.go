package messages

import "sluice/gateway/conversation"

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
		dst = a.add(dst, a.said("thinking"), news.Thinking)
	}
	if len(news.Text) > 0 {
		dst = a.add(dst, a.said("text"), news.Text)
	}
	for i := range news.Calls {
		dst = a.call(dst, &news.Calls[i])
	}
	if news.Finish != nil {
		a.finish = append(a.finish[:0], news.Finish...)
	}
	return a.flow(dst, false)
}

// Close implements [conversation.Dialect].
func (a *Answer) Close(dst []byte, usage *conversation.Usage) []byte {
	dst = a.flow(dst, true)
	dst = append(conversation.Event(dst, "message_delta", ""), `,"delta":{"stop_reason":"`...)
	dst = append(append(dst, stopReason(a.finish, a.calls)...), `","stop_sequence":null},"usage":`...)
	dst = append(appendUsage(dst, usage), "}\n\n"...)
	return append(conversation.Event(dst, "message_stop", ""), "}\n\n"...)
}

// Fail implements [conversation.Dialect].
func (a *Answer) Fail(dst []byte, refused *conversation.Refusal) []byte {
	return append(AppendError(append(dst, "event: error\ndata: "...), a.head.ID, refused), "\n\n"...)
}
