package messages

import (
	"slices"
	"strconv"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// answerBlock is a block of a stream's content.
type answerBlock struct {
	kind  string            // thinking, text, tool_use
	index int               // of the call in the answer
	call  conversation.Call // the Arguments are what is known and not sent; those of any other block are its text
	input extent            // of a call
	begun bool              // the client has its beginning
	ended bool              // the client has its end
}

// extent follows the arguments of a call to the end of their object. Nothing but white space may follow that.
type extent struct {
	depth           int
	quoted, escaped bool
	ended           bool
}

func (e *extent) add(raw []byte) {
	for r := strictjson.NewCursor(raw, true); !e.ended; {
		c, ok := r.Next()
		switch {
		case !ok:
			return
		case e.escaped:
			e.escaped = false
		case c == '"':
			e.quoted = !e.quoted
		case e.quoted:
			e.escaped = c == '\\'
		case c == '{' || c == '[':
			e.depth++
		case c == '}' || c == ']':
			e.depth--
			e.ended = e.depth == 0
		}
	}
}

// said finds the block for the next piece of thinking or text: the last one, if that is of this kind.
func (a *Answer) said(kind string) *answerBlock {
	if last := len(a.blocks) - 1; last >= 0 && a.blocks[last].kind == kind {
		return &a.blocks[last]
	}
	return a.append(answerBlock{kind: kind})
}

// call takes what is new in a call. The block of a call that has ended cannot go on.
func (a *Answer) call(dst []byte, news *conversation.CallDelta) []byte {
	a.calls = true
	b := a.called(news.Index)
	b.call.ID, b.call.Name = append(b.call.ID, news.ID...), append(b.call.Name, news.Name...)
	b.input.add(news.Arguments)
	return a.add(dst, b, news.Arguments)
}

// called finds the block of a call, or adds it.
func (a *Answer) called(index int) *answerBlock {
	for i := range slices.Backward(a.blocks) {
		if b := &a.blocks[i]; b.kind == "tool_use" && b.index == index {
			return b
		}
	}
	return a.append(answerBlock{kind: "tool_use", index: index})
}

func (a *Answer) append(b answerBlock) *answerBlock {
	a.blocks = append(a.blocks, b)
	return &a.blocks[len(a.blocks)-1]
}

// add takes the next piece of a block. Unless it is the turn of the block, the piece is kept. Nothing may follow a call that has ended.
func (a *Answer) add(dst []byte, b *answerBlock, piece []byte) []byte {
	switch {
	case b.ended:
		return dst
	case b.begun:
		return a.piece(dst, b.kind, piece)
	}
	b.call.Arguments = append(b.call.Arguments, piece...)
	return dst
}

// flow writes what can be written. Blocks follow each other, but the service may go on with a call after the next has begun. So the blocks
// behind a call wait until its arguments are a whole object, or for the end of the stream.
func (a *Answer) flow(dst []byte, end bool) []byte {
	for ; a.turn < len(a.blocks); a.turn++ {
		b := &a.blocks[a.turn]
		if !b.begun {
			if !end && b.kind == "tool_use" && (len(b.call.ID) == 0 || len(b.call.Name) == 0) {
				return dst
			}
			dst = a.begin(dst, b)
		}
		last := a.turn == len(a.blocks)-1
		if !end && (last || b.kind == "tool_use" && !b.input.ended) {
			return dst
		}
		dst = append(a.event(dst, "content_block_stop"), "}\n\n"...)
		b.ended = true
	}
	return dst
}

// begin writes the beginning of a block, and what was kept of it.
func (a *Answer) begin(dst []byte, b *answerBlock) []byte {
	dst = append(a.event(dst, "content_block_start"), `,"content_block":`...)
	switch b.kind {
	case "tool_use":
		dst = append(a.appendCall(dst, &b.call, a.turn), "{}}}\n\n"...)
	case "thinking":
		dst = append(dst, `{"type":"thinking","thinking":"","signature":""}}`+"\n\n"...)
	default:
		dst = append(dst, `{"type":"text","text":""}}`+"\n\n"...)
	}
	kept := b.call.Arguments
	b.begun, b.call = true, conversation.Call{}
	return a.piece(dst, b.kind, kept)
}

// deltas are what the piece of a block is called, by the block's kind: its type, and the member with its text.
var deltas = map[string][2]string{
	"thinking": {"thinking_delta", "thinking"}, "text": {"text_delta", "text"}, "tool_use": {"input_json_delta", "partial_json"},
}

// piece writes a piece of the block whose turn it is.
func (a *Answer) piece(dst []byte, kind string, text []byte) []byte {
	if len(text) == 0 {
		return dst
	}
	words := deltas[kind]
	dst = append(append(append(a.event(dst, "content_block_delta"), `,"delta":{"type":"`...), words[0]...), '"')
	return append(rawjson.AppendText(dst, words[1], text), "}}\n\n"...)
}

// event begins an event about the block whose turn it is.
func (a *Answer) event(dst []byte, name string) []byte {
	dst = append(conversation.Event(dst, name, ""), `,"index":`...)
	return strconv.AppendInt(dst, int64(a.turn), 10)
}
