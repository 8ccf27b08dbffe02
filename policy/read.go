package policy

import (
	"sync"

	"sluice/policy/strictjson"
)

// Read reads one body in one strict pass and says what it asks for. It keeps no tree of the body and copies no image.
// The error is a [*strictjson.Error]: the body is not one strict JSON document, so Sluice and upstream could read it
// differently. Whether the service's rules allow the request is [Judge]'s question.
func Read(f *Families, call Call, body []byte) (Request, error) {
	r := readers.Get().(*reader)
	defer r.release()
	r.Reset(body)
	r.call, r.req.facts = call, factsPool.Get().(*facts)
	if err := r.Document(placeTop, r.topMember); err != nil {
		r.req.Release()
		return Request{}, err
	}
	r.finish(f)
	return r.req, nil
}

// reader is the strict pass over one body.
type reader struct {
	strictjson.Scanner
	call Call
	req  Request
	at2  [2]int32         // indices of the message and item, or of the tool, being read
	msg  message          // the message being read
	part item             // its content item being read
	text strictjson.Count // characters of text for the model
}

// readers keeps readers for the space of their lists of names, so that a pass allocates next to nothing.
var readers = sync.Pool{New: func() any { return new(reader) }}

func (r *reader) release() {
	scanner := r.Scanner
	*r = reader{Scanner: scanner}
	r.Reset(nil)
	readers.Put(r)
}

func (r *reader) topMember(f field) error {
	switch f {
	case fieldInput:
		return r.into(f, placeInput, r.inputMember)
	case fieldParameters:
		return r.into(f, placeParameters, r.parameter)
	}
	model, err := r.identifier()
	r.req.facts.values[fieldModel] = model
	return err
}

// into consumes the value of f, an object by the function, and notes its type.
func (r *reader) into(f field, p *strictjson.Names, member func(field) error) error {
	s := r.Shape()
	r.req.facts.values[f] = value{shape: s}
	if s == strictjson.Object {
		return r.Object(p, member)
	}
	return r.Skip()
}

// keep consumes the value of f and keeps it.
func (r *reader) keep(f field) error {
	v, err := r.value()
	r.req.facts.values[f] = v
	return err
}

// identifier consumes a model, an id or a name. U+0000 ends a string for some readers and not for others, so it has no
// place there.
func (r *reader) identifier() (value, error) {
	v := value{shape: r.Shape()}
	if v.shape != strictjson.String {
		return v, r.Skip()
	}
	t, err := r.Identifier()
	if err != nil {
		return v, err
	}
	v.text, v.count = kept(r.Raw(t), t.Escaped), int32(t.Points())
	return v, nil
}

// id consumes an id or a name that no rule looks at.
func (r *reader) id(field) error {
	_, err := r.identifier()
	return err
}
