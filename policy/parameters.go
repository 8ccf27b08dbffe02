package policy

import "sluice/policy/strictjson"

// parameterReader reads the parameters.
type parameterReader struct{ *reader }

func (p parameterReader) member(f field) error {
	switch f {
	case fieldTools:
		return p.tools()
	case fieldToolChoice:
		return p.toolChoice()
	case fieldStop:
		return p.stop()
	case fieldResponseFormat:
		return p.into(f, placeResponseFormat, p.responseFormat)
	case fieldNegativePrompt: // its text stays out of messages
		s := p.Shape()
		if s == strictjson.String {
			t, err := p.String()
			p.facts.values[f] = value{shape: s, count: int32(t.Points())}
			return err
		}
	}
	return p.keep(f)
}

func (p parameterReader) responseFormat(f field) error {
	if f == fieldJSONSchema {
		return p.into(f, placeSchema, p.jsonSchema)
	}
	return p.keep(f)
}

func (p parameterReader) jsonSchema(f field) error {
	if f == fieldSchema {
		return p.keep(f)
	}
	return p.id(f)
}

// toolChoice reads tool_choice: a word, or an object that names the function to call.
func (p parameterReader) toolChoice() error {
	if p.Shape() != strictjson.Object {
		return p.keep(fieldToolChoice)
	}
	p.facts.values[fieldToolChoice] = value{shape: strictjson.Object}
	function, named := false, false
	err := p.Object(placeToolChoice, func(f field) error {
		if f == fieldType {
			v, err := p.value()
			function = v.shape == strictjson.String && v.text == "function"
			return err
		}
		return p.nested(placeChosenFunction, func(f field) error {
			named = p.Shape() == strictjson.String
			return p.id(f)
		})
	})
	p.facts.forced = function && named
	return err
}

// The kinds of the elements of stop.
const (
	stopWords   = 1 << iota // strings
	stopTokens              // token ids
	stopLists               // lists of token ids
	stopUnknown             // anything else
)

// maxStop is how many stop sequences are kept for the spans.
const maxStop = 8

// stop reads the stop sequences: a string, or an array of strings, token ids or lists of token ids.
func (p parameterReader) stop() error {
	if p.Shape() != strictjson.Array {
		err := p.keep(fieldStop)
		p.keepStop(p.facts.values[fieldStop])
		return err
	}
	p.facts.values[fieldStop] = value{shape: strictjson.Array}
	return p.Array(p.stopElement)
}

func (p parameterReader) stopElement() error {
	switch p.Shape() {
	case strictjson.Array:
		p.facts.stopKinds |= stopLists
		return p.Array(func() error {
			if p.Shape() == strictjson.Number {
				return p.stopToken(stopLists)
			}
			p.facts.stopKinds |= stopUnknown
			return p.Skip()
		})
	case strictjson.Number:
		return p.stopToken(stopTokens)
	case strictjson.String:
		p.facts.stopKinds |= stopWords
		if len(p.req.Stop) < maxStop {
			v, err := p.value()
			p.keepStop(v)
			return err
		}
		return p.Skip()
	}
	p.facts.stopKinds |= stopUnknown
	return p.Skip()
}

// stopToken reads a number. It is of the kind if it is a token id.
func (p parameterReader) stopToken(kind uint) error {
	literal, err := p.Number()
	if !isInteger(literal) {
		kind = stopUnknown
	}
	p.facts.stopKinds |= kind
	return err
}

func (p parameterReader) keepStop(v value) {
	if v.shape == strictjson.String {
		p.req.Stop = append(p.req.Stop, cut(v.text))
	}
}

// tools reads the tools of a text request. Their text, schemas and all, is part of the model's input.
func (p parameterReader) tools() error {
	list := &p.facts.values[fieldTools]
	list.shape = p.Shape()
	if list.shape != strictjson.Array {
		return p.Skip()
	}
	before := p.Source()
	err := p.Array(func() error {
		p.facts.at = [2]int32{list.count}
		list.count++
		return p.tool()
	})
	p.req.Tools = int(list.count)
	if err == nil && list.count > 0 {
		after := p.Source()
		p.text.Add(strictjson.Count{ASCII: after.ASCII - before.ASCII, Wide: after.Wide - before.Wide})
	}
	return err
}

func (p parameterReader) tool() error {
	if s := p.Shape(); s != strictjson.Object {
		p.facts.mark(markTool, value{shape: s})
		return p.Skip()
	}
	t := toolReader{reader: p.reader}
	err := p.Object(placeTool, t.member)
	if t.kind.shape != strictjson.String || t.kind.text != "function" {
		p.facts.mark(markToolType, t.kind)
	}
	if t.function.shape != strictjson.Object {
		p.facts.mark(markToolFunction, t.function)
	}
	return err
}

// toolReader reads one tool.
type toolReader struct {
	*reader
	kind, function, name value
}

func (t *toolReader) member(f field) (err error) {
	if f == fieldType {
		t.kind, err = t.value()
		return err
	}
	t.function.shape = t.Shape()
	if t.function.shape != strictjson.Object {
		return t.Skip()
	}
	err = t.Object(placeToolFunction, t.functionMember)
	if t.name.shape != strictjson.String || !isToolName(t.name.text) {
		t.facts.mark(markToolName, t.name)
	}
	return err
}

func (t *toolReader) functionMember(f field) (err error) {
	switch s := t.Shape(); f {
	case fieldName:
		t.name, err = t.identifier()
		return err
	case fieldDescription:
		if s != strictjson.String && s != strictjson.Null {
			t.facts.mark(markToolDescription, value{shape: s})
		}
	case fieldParameters:
		if s != strictjson.Object && s != strictjson.Null {
			t.facts.mark(markToolParameters, value{shape: s})
		}
	}
	return t.Skip()
}

// maxToolName is the length in bytes of the longest name of a function.
const maxToolName = 64

// isToolName reports whether a function may have the name: letters, digits, underscore and hyphen.
func isToolName(name string) bool {
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxToolName
}
