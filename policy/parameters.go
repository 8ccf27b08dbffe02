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
