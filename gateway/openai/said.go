package openai

import "strconv"

// said is what one choice of an answer or of a frame says. Texts are as they are written between their quotes; one that is
// absent is nil, one that is empty is not.
type said struct {
	index     int
	content   []byte
	reasoning []byte
	calls     []byte // an array, as it is written
	logprobs  []byte // an object, as it is written
	finish    []byte // a string with its quotes; nil: the choice goes on
}

// answer is what an answer or a frame says, in either of the service's forms.
type answer struct {
	output  bool // there is one
	choices []said
	usage   []byte // an object, as it is written
	code    []byte // a string with its quotes, of an error
	message []byte
	scratch []byte // of texts that are put together
}

// read reads one answer. What it keeps is part of the object, or of a, until the next is read.
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
		case "message":
			a.message = w.value
		}
	}
}

// failed reports whether the answer is an error.
func (a *answer) failed() bool { return !a.output && isString(a.code) && len(a.code) > 2 }

// readOutput reads output.choices, or output.text of older models.
func (a *answer) readOutput(output []byte) {
	var older said
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

func (a *answer) readChoice(choice []byte, position int) said {
	s := said{index: position}
	for w := walkObject(choice); w.member(); {
		switch string(w.name) {
		case "index":
			s.index = small(w.value, position)
		case "message":
			a.readMessage(w.value, &s)
		case "finish_reason":
			s.finish = finish(w.value)
		case "logprobs":
			if kind(w.value) == '{' {
				s.logprobs = w.value
			}
		}
	}
	return s
}

func (a *answer) readMessage(message []byte, s *said) {
	for w := walkObject(message); w.member(); {
		switch string(w.name) {
		case "content":
			s.content = a.joined(w.value)
		case "reasoning_content":
			s.reasoning = a.joined(w.value)
		case "tool_calls":
			if kind(w.value) == '[' {
				s.calls = w.value
			}
		}
	}
}

// joined is the text of a content: a string, or an array of items. A picture among them becomes a link in Markdown, because
// OpenAI's answers have no pictures.
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

// finish is a finish_reason. The service says null also by a string.
func finish(value []byte) []byte {
	if !isString(value) || len(value) == 2 || string(value) == `"null"` {
		return nil
	}
	return value
}

// small is a number that counts choices or calls, else the position that the element has.
func small(value []byte, position int) int {
	n, err := strconv.ParseUint(string(value), 10, 16)
	if err != nil {
		return position
	}
	return int(n)
}
