package policy

import "sync"

// Read reads one body in one strict pass and says what it asks for. It keeps no tree of the body and copies no image.
// The error is a [*BodyError]: the body is not one strict JSON document, so Sluice and upstream could read it
// differently. Whether the service's rules allow the request is [Judge]'s question.
func Read(f *Families, call Call, body []byte) (Request, error) {
	r := readers.Get().(*reader)
	defer r.release()
	r.src, r.call, r.req.facts = body, call, factsPool.Get().(*facts)
	if err := r.document(); err != nil {
		r.req.Release()
		return Request{}, err
	}
	r.finish(f)
	return r.req, nil
}

// reader is the strict pass over one body.
type reader struct {
	scanner
	call     Call
	req      Request
	at2      [2]int32 // indices of the message and item, or of the tool, being read
	msg      message  // the message being read
	part     item     // its content item being read
	counting bool     // strings met by skip are text for the model
	ascii    int      // ASCII characters of that text
	wide     int      // its other code points
}

// readers keeps readers for the space of their lists of names, so that a pass allocates next to nothing.
var readers = sync.Pool{New: func() any { return new(reader) }}

// maxPooled is how many names a reader may have room for and still be kept: one body of ten thousand members must
// not be paid for for ever.
const maxPooled = 1024

func (r *reader) release() {
	n := r.names
	if cap(n.refs) > maxPooled || cap(n.text) > maxPooled*16 {
		n = names{}
	}
	*r = reader{}
	r.names = names{refs: n.refs[:0], text: n.text[:0], slots: n.slots[:0]}
	readers.Put(r)
}

// document reads the whole body, which must be one object and nothing else.
func (r *reader) document() error {
	if r.shape() != shapeObject {
		return r.fail(r.pos, FaultNotObject)
	}
	if err := r.object(placeTop, (*reader).topMember); err != nil {
		return err
	}
	if r.peek(); r.pos != len(r.src) {
		return r.fail(r.pos, FaultTrailing)
	}
	return nil
}

func (r *reader) topMember(f field) error {
	switch f {
	case fieldInput:
		return r.into(f, placeInput, (*reader).inputMember)
	case fieldParameters:
		return r.into(f, placeParameters, (*reader).parameter)
	}
	model, err := r.identifier()
	r.req.facts.values[fieldModel] = model
	return err
}

// into consumes the value of f, an object by the function, and notes its type.
func (r *reader) into(f field, p *place, member func(*reader, field) error) error {
	s := r.shape()
	r.req.facts.values[f] = value{shape: s}
	if s == shapeObject {
		return r.object(p, member)
	}
	return r.skip()
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
	v := value{shape: r.shape()}
	if v.shape != shapeString {
		return v, r.skip()
	}
	start := r.pos
	t, err := r.string()
	if err == nil && t.nul {
		err = r.fail(start, FaultNUL)
	}
	if err != nil {
		return v, err
	}
	v.text, v.count = r.kept(t), int32(t.points())
	return v, nil
}

// id consumes an id or a name that no rule looks at.
func (r *reader) id(field) error {
	_, err := r.identifier()
	return err
}
