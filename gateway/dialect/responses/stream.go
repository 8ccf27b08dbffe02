package responses

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
	if a.sequence == 0 {
		dst = a.appendState(dst, "created", inProgress, nil, nil)
		dst = a.appendState(dst, inProgress, inProgress, nil, nil)
	}
	if len(news.Thinking) > 0 {
		dst = a.say(dst, reasoning, news.Thinking)
	}
	if len(news.Text) > 0 {
		dst = a.say(dst, message, news.Text)
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
	for i := range a.items {
		dst = a.end(dst, &a.items[i])
	}
	status := a.status()
	return a.appendState(dst, status, status, nil, usage)
}

// Fail implements [conversation.Dialect]. Items that have not ended stay so.
func (a *Answer) Fail(dst []byte, refused *conversation.Refusal) []byte {
	for i := range a.items {
		if it := &a.items[i]; !it.ended {
			it.complete()
		}
	}
	return a.appendState(dst, "failed", "failed", refused, nil)
}

// say writes the next piece of thinking or text.
func (a *Answer) say(dst []byte, of kind, piece []byte) []byte {
	it := a.last()
	if it == nil || it.kind != of || it.ended {
		dst = a.endText(dst)
		it = a.add(of)
		dst = a.begin(dst, it)
	}
	it.text = append(it.text, piece...)
	return a.appendPiece(dst, it, piece)
}

// call writes what is new in a call. A call stays open to the end, because it may go on after the next has begun.
func (a *Answer) call(dst []byte, news *conversation.CallDelta) []byte {
	it := a.callOf(news.Index)
	if it == nil {
		dst = a.endText(dst)
		it = a.add(functionCall)
		it.call = news.Index
	}
	it.id = append(it.id, news.ID...)
	piece := news.Arguments
	if !it.added {
		if it.name = append(it.name, news.Name...); len(it.name) == 0 { // the client must know the tool first
			it.text = append(it.text, piece...)
			return dst
		}
		a.settle(it)
		piece = append(it.text, piece...)
		it.text = nil
		dst = a.begin(dst, it)
	}
	if piece = it.extend(piece); len(piece) == 0 {
		return dst
	}
	return a.appendPiece(dst, it, piece)
}

// endText ends thinking or a message before another item.
func (a *Answer) endText(dst []byte) []byte {
	if it := a.last(); it != nil && it.kind < functionCall {
		return a.end(dst, it)
	}
	return dst
}

// begin writes the events with which an item begins.
func (a *Answer) begin(dst []byte, it *item) []byte {
	it.added = true
	whole := it.text
	it.text = nil // the text follows in pieces
	dst = a.appendItemEvent(dst, it, "added", inProgress)
	dst = a.appendPartEvent(dst, it, "added")
	it.text = whole
	return dst
}

// end writes the events with which an item ends.
func (a *Answer) end(dst []byte, it *item) []byte {
	if it.ended {
		return dst
	}
	if it.ended = true; !it.added { // a call without a name
		dst = a.begin(dst, it)
	}
	if it.complete(); it.kind == customCall && !it.input.opened {
		dst = a.appendPiece(dst, it, it.text)
	}
	dst = a.place(a.event(dst, words[it.kind].event, "done"), it)
	dst = append(rawjson.AppendText(dst, words[it.kind].text, it.text), words[it.kind].logprobs...)
	dst = a.appendPartEvent(append(dst, "}\n\n"...), it, "done")
	return a.appendItemEvent(dst, it, "done", a.itemStatus(it, a.status()))
}

// appendItemEvent writes that an item was added, or is done.
func (a *Answer) appendItemEvent(dst []byte, it *item, what, status string) []byte {
	dst = it.appendNumber(a.event(dst, "response.output_item.", what))
	return append(a.appendItem(append(dst, `,"item":`...), it, status), "}\n\n"...)
}

func (it *item) appendNumber(dst []byte) []byte {
	return strconv.AppendInt(append(dst, `,"output_index":`...), int64(it.number), 10)
}

// appendPiece writes a piece of an item's text.
func (a *Answer) appendPiece(dst []byte, it *item, piece []byte) []byte {
	dst = a.place(a.event(dst, words[it.kind].event, "delta"), it)
	dst = append(rawjson.AppendText(dst, "delta", piece), words[it.kind].logprobs...)
	return append(dst, "}\n\n"...)
}

// appendPartEvent writes that the one part of an item was added, or is done. Calls have none.
func (a *Answer) appendPartEvent(dst []byte, it *item, what string) []byte {
	if words[it.kind].partEvent == "" {
		return dst
	}
	dst = a.place(a.event(dst, words[it.kind].partEvent, what), it)
	return append(it.appendPart(append(dst, `,"part":`...)), "}\n\n"...)
}

// place appends the members that say which text an event is about.
func (a *Answer) place(dst []byte, it *item) []byte {
	dst = a.appendID(append(dst, `,"item_id":`...), it)
	return append(it.appendNumber(dst), words[it.kind].place...)
}

// appendState writes an event with the whole response.
func (a *Answer) appendState(dst []byte, event, status string, refused *conversation.Refusal, usage *conversation.Usage) []byte {
	dst = append(a.event(dst, "response.", event), `,"response":`...)
	return append(a.appendResponse(dst, status, refused, usage), "}\n\n"...)
}

// event begins an event.
func (a *Answer) event(dst []byte, name, what string) []byte {
	dst = append(conversation.Event(dst, name, what), `,"sequence_number":`...)
	dst = strconv.AppendInt(dst, int64(a.sequence), 10)
	a.sequence++
	return dst
}
