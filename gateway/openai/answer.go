package openai

import "strconv"

// choice is one choice of an answer or of a frame. Texts are raw: JSON between its quotes, with the escapes. nil means absent.
type choice struct {
	index     int
	content   []byte
	reasoning []byte
	calls     []byte // an array
	logprobs  []byte // an object
	finish    []byte // a string with its quotes; nil: not finished
}

// answer is an answer, or a frame of a stream.
type answer struct {
	output   bool // it has an output
	choices  []choice
	usage    []byte // an object
	code     []byte // of an error; a string with its quotes
	scratch  []byte // room for texts that are joined
	repaired []byte // room for an answer with invalid characters

	// For a [pattern]: how many texts are not empty, and where the last one and the usage are.
	texts             int
	textEnd, textSize int
	usageEnd          int
}

// read reads an answer and reports whether it is a JSON object. The slices that it keeps are valid until the next read and as
// long as the text is.
func (a *answer) read(text []byte) bool {
	if a.readOnce(text) {
		return true
	}
	var ok bool
	a.repaired, ok = repair(a.repaired[:0], text)
	ok = ok && a.readOnce(a.repaired)
	a.texts = 0 // they are elsewhere
	return ok
}

func (a *answer) readOnce(text []byte) bool {
	*a = answer{choices: a.choices[:0], scratch: a.scratch[:0], repaired: a.repaired}
	r := reader{text: text}
	if r.peek() != '{' {
		return false
	}
	for r.open('{'); r.member(); {
		switch string(r.name) {
		case "output":
			a.output = r.peek() == '{'
			a.readOutput(&r)
		case "usage":
			a.usage = r.value()
			a.usageEnd = r.at
		case "code":
			a.code = r.value()
		default:
			r.skip()
		}
	}
	return r.end()
}

// failed reports whether the answer is an error.
func (a *answer) failed() bool { return !a.output && isString(a.code) && len(a.code) > 2 }

// readOutput reads output.choices, or output.text of older models.
func (a *answer) readOutput(r *reader) {
	var older choice
	for r.open('{'); r.member(); {
		switch string(r.name) {
		case "choices":
			position := 0
			for r.open('['); r.element(); position++ {
				a.choices = append(a.choices, a.readChoice(r, position))
			}
		case "text":
			older.content = a.joined(r)
		case "finish_reason":
			older.finish = finish(r.value())
		default:
			r.skip()
		}
	}
	if len(a.choices) == 0 && older.content != nil {
		a.choices = append(a.choices, older)
	}
}

func (a *answer) readChoice(r *reader, position int) choice {
	c := choice{index: position}
	for r.open('{'); r.member(); {
		switch string(r.name) {
		case "index":
			c.index = indexOf(r.value(), position)
		case "message":
			a.readMessage(r, &c)
		case "finish_reason":
			c.finish = finish(r.value())
		case "logprobs":
			c.logprobs = only('{', r.value(), c.logprobs)
		default:
			r.skip()
		}
	}
	return c
}

func (a *answer) readMessage(r *reader, c *choice) {
	for r.open('{'); r.member(); {
		switch string(r.name) {
		case "content":
			c.content = a.joined(r)
		case "reasoning_content":
			c.reasoning = a.joined(r)
		case "tool_calls":
			c.calls = only('[', r.value(), c.calls)
		default:
			r.skip()
		}
	}
}

// only returns a value if it is of a kind, and otherwise the value before.
func only(of byte, value, before []byte) []byte {
	if kind(value) == of {
		return value
	}
	return before
}

// joined returns the text of a content, which is a string or an array of items. An image among the items becomes a Markdown
// image: OpenAI's answers have no other place for it.
func (a *answer) joined(r *reader) []byte {
	switch r.peek() {
	case '"':
		return a.text(r)
	case '[':
	default:
		r.skip()
		return nil
	}
	from := len(a.scratch)
	for r.open('['); r.element(); {
		for r.open('{'); r.member(); {
			name := r.name
			switch {
			case r.peek() != '"':
				r.skip()
			case string(name) == "text":
				a.scratch = append(a.scratch, a.text(r)...)
			case string(name) == "image":
				a.scratch = append(append(append(a.scratch, "![image]("...), a.text(r)...), ')')
			default:
				r.skip()
			}
		}
	}
	return a.scratch[from:len(a.scratch):len(a.scratch)]
}

// text reads a text and notes where it is.
func (a *answer) text(r *reader) []byte {
	text := r.string()
	if len(text) > 0 {
		a.texts++
		a.textEnd, a.textSize = r.at-1, len(text)
	}
	return text
}

// finish returns a finish_reason. The service writes null as a string, too.
func finish(value []byte) []byte {
	if !isString(value) || len(value) == 2 || string(value) == `"null"` {
		return nil
	}
	return value
}

// indexOf returns the index that a choice or a call has. Without one it is its position in the array.
func indexOf(value []byte, position int) int {
	n, err := strconv.ParseUint(string(value), 10, 16)
	if err != nil {
		return position
	}
	return int(n)
}
