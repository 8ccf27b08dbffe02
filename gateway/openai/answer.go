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
	output  bool // it has an output
	choices []choice
	usage   []byte // an object
	code    []byte // of an error; a string with its quotes
	scratch []byte // room for texts that are joined
}

// read reads an answer. The slices that it keeps are valid until the next read and as long as the object is.
func (a *answer) read(object []byte) {
	*a = answer{choices: a.choices[:0], scratch: a.scratch[:0]}
	for w := walkObject(object); w.member(); {
		switch string(w.name) {
		case "output":
			a.output = kind(w.value) == '{'
			a.readOutput(w.value)
		case "usage":
			a.usage = w.value
		case "code":
			a.code = w.value
		}
	}
}

// failed reports whether the answer is an error.
func (a *answer) failed() bool { return !a.output && isString(a.code) && len(a.code) > 2 }

// readOutput reads output.choices, or output.text of older models.
func (a *answer) readOutput(output []byte) {
	var older choice
	for w := walkObject(output); w.member(); {
		switch string(w.name) {
		case "choices":
			position := 0
			for list := walkArray(w.value); list.element(); position++ {
				a.choices = append(a.choices, a.readChoice(list.value, position))
			}
		case "text":
			older.content = a.joined(w.value)
		case "finish_reason":
			older.finish = finish(w.value)
		}
	}
	if len(a.choices) == 0 && older.content != nil {
		a.choices = append(a.choices, older)
	}
}

func (a *answer) readChoice(value []byte, position int) choice {
	c := choice{index: position}
	for w := walkObject(value); w.member(); {
		switch string(w.name) {
		case "index":
			c.index = indexOf(w.value, position)
		case "message":
			a.readMessage(w.value, &c)
		case "finish_reason":
			c.finish = finish(w.value)
		case "logprobs":
			if kind(w.value) == '{' {
				c.logprobs = w.value
			}
		}
	}
	return c
}

func (a *answer) readMessage(message []byte, c *choice) {
	for w := walkObject(message); w.member(); {
		switch string(w.name) {
		case "content":
			c.content = a.joined(w.value)
		case "reasoning_content":
			c.reasoning = a.joined(w.value)
		case "tool_calls":
			if kind(w.value) == '[' {
				c.calls = w.value
			}
		}
	}
}

// joined returns the text of a content, which is a string or an array of items. An image among the items becomes a Markdown
// image: OpenAI's answers have no other place for it.
func (a *answer) joined(content []byte) []byte {
	if isString(content) {
		return inside(content)
	}
	if kind(content) != '[' {
		return nil
	}
	from := len(a.scratch)
	for items := walkArray(content); items.element(); {
		for w := walkObject(items.value); w.member(); {
			switch {
			case !isString(w.value):
			case string(w.name) == "text":
				a.scratch = append(a.scratch, inside(w.value)...)
			case string(w.name) == "image":
				a.scratch = append(append(append(a.scratch, "![image]("...), inside(w.value)...), ')')
			}
		}
	}
	return a.scratch[from:len(a.scratch):len(a.scratch)]
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
