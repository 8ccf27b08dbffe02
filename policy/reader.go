package policy

import (
	"sync"

	"sluice/policy/strictjson"
)

// reader is the strict pass over one body. It fills in the request and its facts.
type reader struct {
	strictjson.Scanner
	req   Request
	facts *facts           // the request's
	text  strictjson.Count // characters of text for the model
}

// readers keeps readers for the room of their scanners, so that a pass allocates next to nothing.
var readers = sync.Pool{New: func() any { return new(reader) }}

func newReader(call Call, body []byte) *reader {
	r := readers.Get().(*reader)
	r.Reset(body)
	r.facts = factsPool.Get().(*facts)
	r.facts.call = call
	r.req.facts = r.facts
	return r
}

func (r *reader) release() {
	r.Reset(nil)
	*r = reader{Scanner: r.Scanner}
	readers.Put(r)
}

// value consumes the next value and keeps what rules look at.
func (r *reader) value() (value, error) {
	v := value{shape: r.Shape()}
	switch v.shape {
	case strictjson.Number:
		literal, err := r.Number()
		v.text = string(literal)
		return v, err
	case strictjson.String:
		t, err := r.String()
		return r.kept(t), err
	}
	return v, r.Skip()
}

// identifier consumes a model, an id or a name, in which U+0000 is refused.
func (r *reader) identifier() (value, error) {
	if s := r.Shape(); s != strictjson.String {
		return value{shape: s}, r.Skip()
	}
	t, err := r.Identifier()
	return r.kept(t), err
}

// kept is a string as a value.
func (r *reader) kept(t strictjson.Text) value {
	return value{shape: strictjson.String, text: kept(r.Raw(t), t.Escaped), count: int32(t.Points())}
}

// prompt consumes what should be a string of the prompt. Its text is counted and not kept: a prompt never appears in a
// message.
func (r *reader) prompt() (value, error) {
	s := r.Shape()
	if s != strictjson.String {
		return value{shape: s}, r.Skip()
	}
	t, err := r.String()
	r.text.Add(t.Count)
	r.req.PromptLength += t.Points()
	return value{shape: s, count: int32(t.Points())}, err
}

// keep consumes the value of f and keeps it.
func (r *reader) keep(f field) error {
	v, err := r.value()
	r.facts.values[f] = v
	return err
}

// id consumes an id or a name that no rule looks at.
func (r *reader) id(field) error {
	_, err := r.identifier()
	return err
}

// into consumes the value of f, an object by the function, and notes its type.
func (r *reader) into(f field, p *strictjson.Names, member func(field) error) error {
	r.facts.values[f] = value{shape: r.Shape()}
	return r.nested(p, member)
}

// nested consumes an object by the function, and skips anything else.
func (r *reader) nested(p *strictjson.Names, member func(field) error) error {
	if r.Shape() == strictjson.Object {
		return r.Object(p, member)
	}
	return r.Skip()
}
