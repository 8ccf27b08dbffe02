package policy

// skip consumes the next value as strictly as any other, and keeps nothing of it.
func (r *reader) skip() error {
	switch r.shape() {
	case shapeString:
		t, err := r.string()
		if err == nil && r.counting {
			r.countText(t)
		}
		return err
	case shapeObject:
		return r.object(nil, nil)
	case shapeArray:
		return r.array((*reader).skip)
	case shapeTrue:
		return r.word("true")
	case shapeFalse:
		return r.word("false")
	case shapeNull:
		return r.word("null")
	}
	_, err := r.number()
	return err
}

// array consumes an array, each element by the function.
func (r *reader) array(each func(*reader) error) error {
	if err := r.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := r.more(first, ']')
		if err != nil || !more {
			return err
		}
		if err := each(r); err != nil {
			return err
		}
	}
}

// object consumes an object: each known member by the function, all others by skip.
func (r *reader) object(p *place, member func(*reader, field) error) error {
	if err := r.enter(); err != nil {
		return err
	}
	m := r.names.open()
	for first := true; ; first = false {
		more, err := r.more(first, '}')
		if err != nil {
			return err
		}
		if !more {
			r.names.close(m)
			return nil
		}
		f, err := r.name(p, &m)
		if err != nil {
			return err
		}
		if f == fieldUnknown || f == fieldKnown {
			err = r.skip()
		} else {
			err = member(r, f)
		}
		if err != nil {
			return err
		}
	}
}

// name consumes a member's name and colon. It refuses what two parsers could take for two different members.
func (r *reader) name(p *place, m *members) (field, error) {
	if r.peek() != '"' {
		return 0, r.fail(r.pos, FaultSyntax)
	}
	start := r.pos
	t, err := r.string()
	switch {
	case err != nil:
		return 0, err
	case t.nul:
		return 0, r.fail(start, FaultNUL)
	case len(r.names.refs)-m.refs >= maxMembers || r.named >= maxAllMembers:
		return 0, r.fail(start, FaultMembers)
	}
	r.named++
	ref := nameRef{start: uint32(t.start), end: uint32(t.end)}
	if t.escaped {
		from := len(r.names.text)
		r.names.text = unescape(r.names.text, r.src[t.start:t.end], from+maxName+1)
		ref = nameRef{start: uint32(from), end: uint32(len(r.names.text)), inText: true}
	}
	name := r.names.bytes(r.src, ref)
	if len(name) > maxName {
		return 0, r.fail(start, FaultLongName)
	}
	if !r.names.add(r.src, m, ref) {
		return 0, r.fail(start, FaultDuplicate)
	}
	f, same := p.find(name)
	if !same {
		return 0, r.fail(start, FaultCase)
	}
	return f, r.take(':')
}
