package responses

import (
	"regexp"
	"strconv"

	"sluice/gateway/conversation"
	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// kind is the type of an item of the output.
type kind int

const (
	reasoning kind = iota
	message
	functionCall
	customCall
)

// words has the words of each kind: its type, the prefixes of its ids and of the events about its text, and the member with its text. A
// kind with a part also has the prefix of the events about the part, its place, its type, and further members of the part and of events.
var words = [...]struct{ word, prefix, event, text, partEvent, place, part, beside, logprobs string }{
	reasoning: {
		word: "reasoning", prefix: "rs_", event: "response.reasoning_summary_text.", text: "text",
		partEvent: "response.reasoning_summary_part.", place: `,"summary_index":0`, part: `{"type":"summary_text"`,
	},
	message: {
		word: "message", prefix: "msg_", event: "response.output_text.", text: "text", logprobs: `,"logprobs":[]`,
		partEvent: "response.content_part.", place: `,"content_index":0`, part: `{"type":"output_text"`,
		beside: `,"annotations":[],"logprobs":[]`,
	},
	functionCall: {word: "function_call", prefix: "fc_", event: "response.function_call_arguments.", text: "arguments"},
	customCall:   {word: "custom_tool_call", prefix: "ctc_", event: "response.custom_tool_call_input.", text: "input"},
}

// item is an item of the output, as far as it is known. Texts are raw.
type item struct {
	kind   kind
	call   int    // index of the call in the answer
	text   []byte // thinking or text, or the arguments of a call
	input  input  // of a custom tool
	id     []byte // of a call
	name   []byte // of a call: the service's name of the tool, and the client's once the item was added
	space  []byte // the tool's namespace, a raw string; nil: none
	added  bool   // the client has the item
	ended  bool   // the client has all of it
	number int    // in the output
}

// The words for an item's status.
const (
	inProgress = "in_progress"
	completed  = "completed"
	incomplete = "incomplete"
)

// output is what an answer has said so far.
type output struct {
	id    string // the request's id, from which the ids of items are made
	tools []tool // whose calls come back in another form than a function's
	items []item
}

// appendID appends an item's id, a raw string.
func (o *output) appendID(dst []byte, it *item) []byte {
	dst = append(append(append(dst, '"'), words[it.kind].prefix...), o.id...)
	return append(strconv.AppendInt(append(dst, '_'), int64(it.number), 10), '"')
}

// appendItem appends an item with its text so far.
func (o *output) appendItem(dst []byte, it *item, status string) []byte {
	dst = o.appendID(append(dst, `{"id":`...), it)
	dst = append(append(append(dst, `,"type":"`...), words[it.kind].word...), '"')
	switch it.kind {
	case reasoning:
		dst = append(dst, `,"summary":[`...)
	case message:
		dst = append(append(append(dst, `,"status":"`...), status...), `","role":"assistant","content":[`...)
	default:
		return it.appendCall(dst, status)
	}
	if status != inProgress {
		dst = it.appendPart(dst)
	}
	return append(dst, "]}"...)
}

// appendCall appends the members of a call to an item.
func (it *item) appendCall(dst []byte, status string) []byte {
	dst = append(append(append(dst, `,"status":"`...), status...), '"')
	dst = rawjson.AppendText(dst, "call_id", it.id)
	dst = rawjson.AppendText(dst, "name", it.name)
	if it.space != nil {
		dst = append(append(dst, `,"namespace":`...), it.space...)
	}
	return append(rawjson.AppendText(dst, words[it.kind].text, it.text), '}')
}

// appendPart appends the part of a message or of a summary that has the text.
func (it *item) appendPart(dst []byte) []byte {
	dst = rawjson.AppendText(append(dst, words[it.kind].part...), "text", it.text)
	return append(append(dst, words[it.kind].beside...), '}')
}

// settle gives a call the client's names, once the service's name is known.
func (o *output) settle(it *item) {
	quoted := append(append([]byte{'"'}, it.name...), '"')
	for i := range o.tools {
		known := &o.tools[i]
		if !sameText(known.native.Name, quoted) {
			continue
		}
		it.name = append(it.name[:0], rawjson.Inside(known.name)...)
		it.space = known.namespace
		if known.custom {
			it.kind = customCall
		}
		return
	}
}

// take takes all of an answer that is no stream.
func (o *output) take(c *conversation.Choice) {
	if len(c.Thinking) > 0 {
		it := o.add(reasoning)
		it.text = append(it.text, c.Thinking...)
	}
	if len(c.Text) > 0 {
		it := o.add(message)
		it.text = append(it.text, c.Text...)
	}
	for call := range c.Calls {
		it := o.add(functionCall)
		it.id, it.name = append(it.id, call.ID...), append(it.name, call.Name...)
		o.settle(it)
		it.extend(call.Arguments)
		it.complete()
	}
}

// add adds an item, in the memory of an earlier answer's item.
func (o *output) add(of kind) *item {
	if len(o.items) < cap(o.items) {
		o.items = o.items[:len(o.items)+1]
	} else {
		o.items = append(o.items, item{})
	}
	it := o.last()
	*it = item{kind: of, number: len(o.items) - 1, text: it.text[:0], id: it.id[:0], name: it.name[:0]}
	return it
}

// last is the last item; nil: there is none.
func (o *output) last() *item {
	if len(o.items) == 0 {
		return nil
	}
	return &o.items[len(o.items)-1]
}

// callOf finds the item of a call; nil: it has none yet.
func (o *output) callOf(index int) *item {
	for i := range o.items {
		if it := &o.items[i]; it.kind >= functionCall && it.call == index {
			return it
		}
	}
	return nil
}

// opening is how the arguments of the function begin that stands for a custom tool: with the input, a string.
var opening = regexp.MustCompile(`^[ \t\r\n]*\{[ \t\r\n]*"input"[ \t\r\n]*:[ \t\r\n]*"`)

// longestOpening bounds how many bytes it has.
const longestOpening = 64

// input reads the input of a custom tool from the arguments of its function, as they arrive.
type input struct {
	opened bool   // the arguments have the form
	ended  bool   // nothing more belongs to the input
	rest   []byte // decoded arguments that are not read yet: the opening, or part of an escape
}

// read appends the next part of the input to dst, a raw text. arguments is the next piece of the arguments, which are JSON in a raw text.
func (in *input) read(dst, arguments []byte) []byte {
	if in.ended {
		return dst
	}
	text := strictjson.Unescape(in.rest, arguments, len(in.rest)+len(arguments))
	if !in.opened {
		begin := opening.Find(text)
		in.opened, in.ended = begin != nil, begin == nil && len(text) > longestOpening
		text = text[len(begin):]
	}
	for in.opened && !in.ended && len(text) > 0 {
		size, raw := rawjson.Characters(text)
		if size == 0 {
			break
		}
		in.ended = raw == nil
		dst, text = append(dst, raw...), text[size:]
	}
	in.rest = append(in.rest[:0], text...)
	return dst
}

// extend takes the next piece of a call's arguments, and returns the text that the client gets of it now. The text of an item is the input
// of a custom tool once its arguments have that form.
func (it *item) extend(piece []byte) (fresh []byte) {
	if it.kind != customCall {
		it.text = append(it.text, piece...)
		return piece
	}
	before := it.input.opened
	fresh = it.input.read(nil, piece)
	switch {
	case !it.input.opened:
		it.text = append(it.text, piece...)
		return nil
	case !before:
		it.text = it.text[:0]
	}
	it.text = append(it.text, fresh...)
	return fresh
}

// complete reads the input of a custom tool from the whole arguments, if it was not read before: it may follow other members. Arguments of
// another form stay as they are.
func (it *item) complete() {
	if it.kind != customCall || it.input.opened {
		return
	}
	called := conversation.Call{Arguments: it.text}
	if input := rawjson.Find(called.Input(), "input"); rawjson.IsString(input) {
		it.text = rawjson.Inside(input)
	}
}
