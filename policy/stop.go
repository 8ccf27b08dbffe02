package policy

import "sluice/policy/strictjson"

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
func (r *reader) stop() error {
	if r.Shape() != strictjson.Array {
		err := r.keep(fieldStop)
		r.keepStop(r.facts.values[fieldStop])
		return err
	}
	r.facts.values[fieldStop] = value{shape: strictjson.Array}
	return r.Array(r.stopElement)
}

func (r *reader) stopElement() error {
	switch r.Shape() {
	case strictjson.Array:
		r.facts.stopKinds |= stopLists
		return r.Array(func() error {
			if r.Shape() == strictjson.Number {
				return r.stopToken(stopLists)
			}
			r.facts.stopKinds |= stopUnknown
			return r.Skip()
		})
	case strictjson.Number:
		return r.stopToken(stopTokens)
	case strictjson.String:
		r.facts.stopKinds |= stopWords
		if len(r.req.Stop) < maxStop {
			v, err := r.value()
			r.keepStop(v)
			return err
		}
		return r.Skip()
	}
	r.facts.stopKinds |= stopUnknown
	return r.Skip()
}

// stopToken reads a number. It is of the kind if it is a token id.
func (r *reader) stopToken(kind uint) error {
	literal, err := r.Number()
	if !isInteger(literal) {
		kind = stopUnknown
	}
	r.facts.stopKinds |= kind
	return err
}

func (r *reader) keepStop(v value) {
	if v.shape == strictjson.String {
		r.req.Stop = append(r.req.Stop, cut(v.text))
	}
}
