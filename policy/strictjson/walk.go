package strictjson

// Document consumes the whole input, which must be one object and nothing else. It calls member as Object does.
func (s *Scanner) Document(known *Names, member func(Field) error) error {
	if s.Shape() != Object {
		return s.fail(s.pos, FaultNotObject)
	}
	if err := s.Object(known, member); err != nil {
		return err
	}
	if s.peek(); s.pos != len(s.src) {
		return s.fail(s.pos, FaultTrailing)
	}
	return nil
}

// Object consumes an object, which must come next. For each member with a known name it calls member, which MUST
// consume the value; the values of all other members are skipped.
func (s *Scanner) Object(known *Names, member func(Field) error) error {
	return s.object(known, member, nil)
}

// Array consumes an array, which must come next. For each element it calls element, which MUST consume it.
func (s *Scanner) Array(element func() error) error {
	if err := s.enter(); err != nil {
		return err
	}
	for first := true; ; first = false {
		more, err := s.more(first, ']')
		if err != nil || !more {
			return err
		}
		if err := element(); err != nil {
			return err
		}
	}
}

// Skip consumes the next value as strictly as any other, and keeps nothing of it.
func (s *Scanner) Skip() error { return s.skip(nil) }

// SkipCounting is Skip, and adds the characters of all strings in the value to count. Member names do not count.
func (s *Scanner) SkipCounting(count *Count) error { return s.skip(count) }

func (s *Scanner) skip(count *Count) error {
	switch s.Shape() {
	case String:
		if count == nil {
			_, err := s.String()
			return err
		}
		t, err := s.String()
		count.Add(t.Count)
		return err
	case Object:
		return s.object(nil, nil, count)
	case Array:
		return s.Array(func() error { return s.skip(count) })
	case True:
		return s.word("true")
	case False:
		return s.word("false")
	case Null:
		return s.word("null")
	}
	_, err := s.Number()
	return err
}

// object is Object, and adds the characters of the strings in skipped values to count.
func (s *Scanner) object(known *Names, member func(Field) error, count *Count) error {
	if err := s.enter(); err != nil {
		return err
	}
	o := s.open.begin()
	for first := true; ; first = false {
		more, err := s.more(first, '}')
		if err != nil {
			return err
		}
		if !more {
			s.open.end(o)
			return nil
		}
		f, err := s.name(known, &o)
		if err != nil {
			return err
		}
		if f == Unknown || f == Ignored {
			err = s.skip(count)
		} else {
			err = member(f)
		}
		if err != nil {
			return err
		}
	}
}

// name consumes a member's name and colon. It refuses what two parsers could take for two different members.
func (s *Scanner) name(known *Names, o *objectNames) (Field, error) {
	if s.peek() != '"' {
		return 0, s.fail(s.pos, FaultSyntax)
	}
	start := s.pos
	t, err := s.String()
	switch {
	case err != nil:
		return 0, err
	case t.NUL:
		return 0, s.fail(start, FaultNUL)
	case len(s.open.refs)-o.refs >= maxMembers || s.members >= maxAllMembers:
		return 0, s.fail(start, FaultMembers)
	}
	s.members++
	ref := nameRef{start: uint32(t.start), end: uint32(t.end)}
	if t.Escaped {
		from := len(s.open.text)
		s.open.text = Unescape(s.open.text, s.Raw(t), from+maxName+1)
		ref = nameRef{start: uint32(from), end: uint32(len(s.open.text)), inText: true}
	}
	name := s.open.bytes(s.src, ref)
	if len(name) > maxName {
		return 0, s.fail(start, FaultLongName)
	}
	if !s.open.add(s.src, o, ref) {
		return 0, s.fail(start, FaultDuplicate)
	}
	f, same := known.find(name)
	if !same {
		return 0, s.fail(start, FaultCase)
	}
	return f, s.take(':')
}
