package conversation

import (
	"sluice/gateway/rawjson"
	"sluice/policy/strictjson"
)

// Choice is one choice of an answer or of a frame. nil means absent.
type Choice struct {
	Index    int
	Text     []byte // raw
	Thinking []byte // raw
	Logprobs []byte // a raw object
	Finish   []byte // a raw value, a string; nil: not finished

	calls []byte // a raw array
}

// Called reports whether the choice has calls of tools.
func (c *Choice) Called() bool { return c.calls != nil && !rawjson.IsEmpty(c.calls) }

// Calls yields the calls of tools.
func (c *Choice) Calls(yield func(Call) bool) {
	position := 0
	for r := rawjson.Array(c.calls); r.Element(); position++ {
		if call := readCall(r.Value(), position); !yield(call.Call) {
			return
		}
	}
}

// Answer is an answer, or a frame of a stream.
type Answer struct {
	Choices []Choice

	output   bool   // it has an output
	usage    []byte // an object
	code     []byte // of an error; a string with its quotes
	scratch  []byte // room for texts that are joined
	repaired []byte // room for an answer with invalid characters

	// For a [pattern]: how many texts are not empty, and where the last of them and the usage end.
	texts             int
	textEnd, textSize int
	usageEnd          int
}

// Usage is the service's count of tokens.
func (a *Answer) Usage() Usage { return ReadUsage(a.usage) }

// read reads an answer and reports whether it is a JSON object. The slices that it keeps are valid until the next read and as
// long as the text is.
func (a *Answer) read(text []byte) bool {
	if a.readOnce(text) {
		return true
	}
	var ok bool
	a.repaired, ok = repair(a.repaired[:0], text)
	ok = ok && a.readOnce(a.repaired)
	a.texts = 0 // they are in the repaired copy
	return ok
}

func (a *Answer) readOnce(text []byte) bool {
	*a = Answer{Choices: a.Choices[:0], scratch: a.scratch[:0], repaired: a.repaired}
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
func (a *Answer) failed() bool { return !a.output && rawjson.IsString(a.code) && len(a.code) > 2 }

// readOutput reads output.choices, or output.text of older models.
func (a *Answer) readOutput(r *strictjson.Reader) {
	var older Choice
	for r.Open('{'); r.Member(); {
		switch string(r.Name) {
		case "choices":
			position := 0
			for r.Open('['); r.Element(); position++ {
				a.Choices = append(a.Choices, a.readChoice(r, position))
			}
		case "text":
			older.Text = a.joined(r)
		case "finish_reason":
			older.Finish = finish(r.Value())
		}
	}
	if len(a.Choices) == 0 && older.Text != nil {
		a.Choices = append(a.Choices, older)
	}
}

func (a *Answer) readChoice(r *strictjson.Reader, position int) Choice {
	c := Choice{Index: position}
	for r.Open('{'); r.Member(); {
		switch string(r.Name) {
		case "index":
			c.Index = indexOf(r.Value(), position)
		case "message":
			for r.Open('{'); r.Member(); {
				switch string(r.Name) {
				case "content":
					c.Text = a.joined(r)
				case "reasoning_content":
					c.Thinking = a.joined(r)
				case "tool_calls":
					c.calls = only('[', r.Value(), c.calls)
				}
			}
		case "finish_reason":
			c.Finish = finish(r.Value())
		case "logprobs":
			c.Logprobs = only('{', r.Value(), c.Logprobs)
		}
	}
	return c
}

// only returns a value if it is of the kind, and otherwise the previous value.
func only(of byte, value, before []byte) []byte {
	if rawjson.Kind(value) == of {
		return value
	}
	return before
}

// joined returns the text of a content, which is a string or an array of items. An image among the items becomes a Markdown
// image: OpenAI's answers have no other place for it.
func (a *Answer) joined(r *strictjson.Reader) []byte {
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
func (a *Answer) text(r *strictjson.Reader) []byte {
	text := r.String()
	if len(text) > 0 {
		a.texts++
		a.textEnd, a.textSize = r.At()-1, len(text)
	}
	return text
}

// finish returns a finish_reason. The service also writes null as a string.
func finish(value []byte) []byte {
	if !rawjson.IsString(value) || len(value) == 2 || string(value) == `"null"` {
		return nil
	}
	return value
}
