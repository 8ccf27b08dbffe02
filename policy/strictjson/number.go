package strictjson

// Number consumes a number as RFC 8259 writes it and returns its literal, which is part of the input.
func (s *Scanner) Number() ([]byte, error) {
	start := s.pos
	if s.at(start) == '-' {
		s.pos++
	}
	if s.at(s.pos) == '0' {
		s.pos++
	} else if err := s.digits(start); err != nil {
		return nil, err
	}
	if s.at(s.pos) == '.' {
		s.pos++
		if err := s.digits(start); err != nil {
			return nil, err
		}
	}
	if c := s.at(s.pos); c == 'e' || c == 'E' {
		s.pos++
		if c := s.at(s.pos); c == '+' || c == '-' {
			s.pos++
		}
		if err := s.digits(start); err != nil {
			return nil, err
		}
	}
	if s.pos-start > maxNumber {
		return nil, s.fail(start, FaultLongNumber)
	}
	return s.src[start:s.pos], nil
}

// digits consumes one digit or more of the number that began at start. It stops as soon as the number is too long, so
// that ten megabytes of digits cost nothing.
func (s *Scanner) digits(start int) error {
	from := s.pos
	for c := s.at(s.pos); c >= '0' && c <= '9'; c = s.at(s.pos) {
		if s.pos++; s.pos-start > maxNumber {
			return s.fail(start, FaultLongNumber)
		}
	}
	if s.pos == from {
		return s.fail(s.pos, FaultSyntax)
	}
	return nil
}
