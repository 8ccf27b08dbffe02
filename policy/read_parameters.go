package policy

import "sluice/policy/strictjson"

// parameter reads a member of parameters.
func (r *reader) parameter(f field) error {
	switch f {
	case fieldTools:
		return r.tools()
	case fieldToolChoice:
		return r.toolChoice()
	case fieldStop:
		return r.stop()
	case fieldResponseFormat:
		return r.into(f, placeResponseFormat, r.responseFormat)
	case fieldNegativePrompt: // its text stays out of messages
		s := r.Shape()
		if s == strictjson.String {
			t, err := r.String()
			r.req.facts.values[f] = value{shape: s, count: int32(t.Points())}
			return err
		}
	}
	return r.keep(f)
}

func (r *reader) responseFormat(f field) error {
	if f == fieldJSONSchema {
		return r.into(f, placeSchema, r.jsonSchema)
	}
	return r.keep(f)
}

func (r *reader) jsonSchema(f field) error {
	if f == fieldSchema {
		return r.keep(f)
	}
	return r.id(f)
}

// toolChoice reads tool_choice: a word, or an object that names the function to call.
func (r *reader) toolChoice() error {
	facts := r.req.facts
	if r.Shape() != strictjson.Object {
		return r.keep(fieldToolChoice)
	}
	facts.values[fieldToolChoice] = value{shape: strictjson.Object}
	function, named := false, false
	err := r.Object(placeToolChoice, func(f field) error {
		if f == fieldType {
			v, err := r.value()
			function = v.shape == strictjson.String && v.text == "function"
			return err
		}
		return r.nested(placeChosenFunction, func(f field) error {
			named = r.Shape() == strictjson.String
			return r.id(f)
		})
	})
	facts.forced = function && named
	return err
}

// The kinds of stop's elements.
const (
	stopWords   = 1 << iota // strings
	stopTokens              // token ids
	stopLists               // lists of token ids
	stopUnknown             // anything else
)

// maxStop is how many stop sequences are kept for the spans.
const maxStop = 8

// stop reads the stop sequences: a string, or an array of strings, token ids or lists of token ids.
func (r *reader) stop() error {
	facts := r.req.facts
	if r.Shape() != strictjson.Array {
		err := r.keep(fieldStop)
		r.keepStop(facts.values[fieldStop])
		return err
	}
	facts.values[fieldStop] = value{shape: strictjson.Array}
	return r.Array(func() error {
		switch r.Shape() {
		case strictjson.Array:
			facts.stopKinds |= stopLists
			return r.Array(r.stopTokenInList)
		case strictjson.Number:
			return r.stopToken(stopTokens)
		case strictjson.String:
			facts.stopKinds |= stopWords
			if len(r.req.Stop) < maxStop {
				v, err := r.value()
				r.keepStop(v)
				return err
			}
			return r.Skip()
		}
		facts.stopKinds |= stopUnknown
		return r.Skip()
	})
}

// stopTokenInList reads an element of a list of token ids, whose kind is that of the list.
func (r *reader) stopTokenInList() error {
	if r.Shape() == strictjson.Number {
		return r.stopToken(stopLists)
	}
	r.req.facts.stopKinds |= stopUnknown
	return r.Skip()
}

// stopToken reads a number: of the kind if it is a token id.
func (r *reader) stopToken(kind uint) error {
	literal, err := r.Number()
	if !isInteger(literal) {
		kind = stopUnknown
	}
	r.req.facts.stopKinds |= kind
	return err
}

func (r *reader) keepStop(v value) {
	if v.shape == strictjson.String {
		r.req.Stop = append(r.req.Stop, cut(v.text))
	}
}
