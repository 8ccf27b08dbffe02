package policy

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
		return r.into(f, placeResponseFormat, (*reader).responseFormat)
	case fieldNegativePrompt: // its text stays out of messages
		s := r.shape()
		if s == shapeString {
			t, err := r.string()
			r.req.facts.values[f] = value{shape: s, count: int32(t.points())}
			return err
		}
	}
	return r.keep(f)
}

func (r *reader) responseFormat(f field) error {
	if f == fieldJSONSchema {
		return r.into(f, placeSchema, (*reader).jsonSchema)
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
	if r.shape() != shapeObject {
		return r.keep(fieldToolChoice)
	}
	facts.values[fieldToolChoice] = value{shape: shapeObject}
	function, named := false, false
	err := r.object(placeToolChoice, func(r *reader, f field) error {
		if f == fieldType {
			v, err := r.value()
			function = v.shape == shapeString && v.text == "function"
			return err
		}
		return r.nested(placeChosenFunction, func(r *reader, f field) error {
			named = r.shape() == shapeString
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
	if r.shape() != shapeArray {
		err := r.keep(fieldStop)
		r.keepStop(facts.values[fieldStop])
		return err
	}
	facts.values[fieldStop] = value{shape: shapeArray}
	return r.array(func(r *reader) error {
		if r.shape() == shapeArray {
			facts.stopKinds |= stopLists
			return r.array((*reader).stopToken)
		}
		v, err := r.value()
		facts.stopKinds |= stopKind(v)
		r.keepStop(v)
		return err
	})
}

func (r *reader) stopToken() error {
	v, err := r.value()
	if stopKind(v) != stopTokens {
		r.req.facts.stopKinds |= stopUnknown
	}
	return err
}

func (r *reader) keepStop(v value) {
	if v.shape == shapeString && len(r.req.Stop) < maxStop {
		r.req.Stop = append(r.req.Stop, cut(v.text))
	}
}

func stopKind(v value) uint {
	switch v.shape {
	case shapeString:
		return stopWords
	case shapeNumber:
		if _, ok := v.integer(); ok {
			return stopTokens
		}
	}
	return stopUnknown
}
