package openai

import (
	"strconv"

	"sluice/policy/strictjson"
)

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
	r := strictjson.NewReader(text)
	if r.Kind() != '{' {
		return false
	}
	for r.Open('{'); r.Member(); {
		switch string(r.Name) {
		case "output":
			a.output = r.Kind() == '{'
			a.readOutput(&r)
		case "usage":
			a.usage = r.Value()
			a.usageEnd = r.At()
		case "code":
			a.code = r.Value()
		}
	}
	return r.End()
}

// failed reports whether the answer is an error.
func (a *answer) failed() bool { return !a.output && isString(a.code) && len(a.code) > 2 }

// readOutput reads output.choices, or output.text of older models.
func (a *answer) readOutput(r *strictjson.Reader) {
	var older choice
	for r.Open('{'); r.Member(); {
		switch string(r.Name) {
		case "choices":
			position := 0
			for r.Open('['); r.Element(); position++ {
				a.choices = append(a.choices, a.readChoice(r, position))
			}
		case "text":
			older.content = a.joined(r)
		case "finish_reason":
			older.finish = finish(r.Value())
		}
	}
	if len(a.choices) == 0 && older.content != nil {
		a.choices = append(a.choices, older)
	}
}

func (a *answer) readChoice(r *strictjson.Reader, position int) choice {
	c := choice{index: position}
	for r.Open('{'); r.Member(); {
		switch string(r.Name) {
		case "index":
			c.index = indexOf(r.Value(), position)
		case "message":
			for r.Open('{'); r.Member(); {
				switch string(r.Name) {
				case "content":
					c.content = a.joined(r)
				case "reasoning_content":
					c.reasoning = a.joined(r)
				case "tool_calls":
					c.calls = only('[', r.Value(), c.calls)
				}
			}
		case "finish_reason":
			c.finish = finish(r.Value())
		case "logprobs":
			c.logprobs = only('{', r.Value(), c.logprobs)
		}
	}
	return c
}

// only returns a value if it is of the kind, and otherwise the previous value.
func only(of byte, value, before []byte) []byte {
	if kind(value) == of {
		return value
	}
	return before
}

// joined returns the text of a content, which is a string or an array of items. An image among the items becomes a Markdown
// image: OpenAI's answers have no other place for it.
func (a *answer) joined(r *strictjson.Reader) []byte {
	if r.Kind() == '"' {
		return a.text(r)
	}
	if r.Kind() != '[' {
		return nil
	}
	from := len(a.scratch)
	for r.Open('['); r.Element(); {
		for r.Open('{'); r.Member(); {
			switch name := r.Name; {
			case r.Kind() != '"':
			case string(name) == "text":
				a.scratch = append(a.scratch, a.text(r)...)
			case string(name) == "image":
				a.scratch = append(append(append(a.scratch, "![image]("...), a.text(r)...), ')')
			}
		}
	}
	return a.scratch[from:len(a.scratch):len(a.scratch)]
}

// text reads a text and notes where it is.
func (a *answer) text(r *strictjson.Reader) []byte {
	text := r.String()
	if len(text) > 0 {
		a.texts++
		a.textEnd, a.textSize = r.At()-1, len(text)
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

// call is a call of a tool. Texts are raw: JSON between its quotes, with the escapes. nil means absent.
type call struct {
	index     int  // without a number: the position in the array
	numbered  bool // the service numbers the call
	alone     bool // the array has no other call
	id, name  []byte
	arguments []byte
}

func readCall(value []byte, position int) call {
	c := call{index: position}
	for r := object(value); r.Member(); {
		switch string(r.Name) {
		case "index":
			if n := indexOf(r.Value(), -1); n >= 0 {
				c.index, c.numbered = n, true
			}
		case "id":
			c.id = inside(r.Value())
		case "function":
			for r.Open('{'); r.Member(); {
				switch string(r.Name) {
				case "name":
					c.name = inside(r.Value())
				case "arguments":
					c.arguments = argumentText(r.Value())
				}
			}
		}
	}
	return c
}

// argumentText returns the arguments of a call: JSON inside a string. Bare JSON is put into a string.
func argumentText(value []byte) []byte {
	switch {
	case isString(value):
		return inside(value)
	case absent(value):
		return nil
	}
	return inside(quoted(nil, value))
}
