package conversation

import (
	"bytes"

	"sluice/policy/strictjson"
)

// pattern is what an event of a stream has in common with the one before: in nearly all events everything but the id, one text, and
// the usage. An event that fits is read by comparison. The compared bytes were checked in the event before, and a reader
// checks the rest, so the result is that of [Answer.read].
type pattern struct {
	room      []byte // of the three parts
	head      []byte // after the id, to the quote before the text
	middle    []byte // from the text to the usage; without a usage to the end
	tail      []byte // from the usage to the end; empty: no usage follows the text
	index     int    // of the choice
	reasoning bool   // the text is its reasoning
}

// longestPattern bounds the memory of a pattern. An event has some 200 bytes beside its text.
const longestPattern = 1 << 10

// fits reads the event at the start of a piece, and returns its text, its usage and its length; 0: it does not fit.
func (p *pattern) fits(piece []byte) (text, usage []byte, size int) {
	rest, ok := bytes.CutPrefix(piece[idEnd(piece):], p.head)
	if !ok || len(p.head) == 0 {
		return nil, nil, 0
	}
	r := strictjson.NewReader(rest)
	text = r.String()
	r.Same(p.middle)
	if len(p.tail) > 0 {
		usage = r.Value()
		r.Same(p.tail)
	}
	if r.Broken() || bytes.IndexByte(usage, '\n') >= 0 || bytes.IndexByte(usage, '\r') >= 0 { // its line ends there
		return nil, nil, 0
	}
	return text, usage, len(piece) - len(rest) + r.At()
}

// idEnd is the length of the id's name and number at the start of an event.
func idEnd(event []byte) int {
	number, ok := bytes.CutPrefix(event, []byte("id:"))
	if !ok {
		return 0
	}
	number = bytes.TrimPrefix(number, []byte(" "))
	for len(number) > 0 && number[0]-'0' <= 9 {
		number = number[1:]
	}
	return len(event) - len(number)
}

// learn makes a pattern of an event that was read into a, if nothing but its text can change in similar events. data is where the
// event has its data.
func (p *pattern) learn(event []byte, data int, a *Answer) {
	p.head = p.head[:0]
	if !a.plain() || len(event)-a.textSize > longestPattern {
		return
	}
	id, from, to := idEnd(event), data+a.textEnd-a.textSize-1, data+a.textEnd
	next, rest := len(event), len(event)
	if usage := a.usageEnd - len(a.usage); a.usage != nil && usage > a.textEnd {
		next, rest = data+usage, data+a.usageEnd
	}
	p.room = append(append(append(p.room[:0], event[id:from]...), event[to+1:next]...), event[rest:]...)
	head, middle := from-id, from-id+next-to-1
	p.head, p.middle, p.tail = p.room[:head], p.room[head:middle], p.room[middle:]
	p.index, p.reasoning = a.Choices[0].Index, len(a.Choices[0].Thinking) > 0
}

// plain reports whether an answer has nothing but one text and its usage.
func (a *Answer) plain() bool {
	if a.texts != 1 || len(a.Choices) != 1 {
		return false
	}
	c := &a.Choices[0]
	return c.calls == nil && c.Logprobs == nil && len(c.Text)+len(c.Thinking) == a.textSize
}

// usual fills the answer from an event that fits a pattern.
func (a *Answer) usual(p *pattern, text, usage []byte) {
	c := Choice{Index: p.index, Text: text}
	if p.reasoning {
		c.Text, c.Thinking = nil, text
	}
	*a = Answer{output: true, Choices: append(a.Choices[:0], c), usage: usage, scratch: a.scratch[:0], repaired: a.repaired}
}
