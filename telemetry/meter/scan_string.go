package meter

import "bytes"

// nearby is how many bytes begin looks ahead for the end of a name or string.
const nearby = 48

// begin takes the quote that opens a name or string. If its end is near and it has no escapes, like nearly all but the model's
// texts, it is taken whole: a loop over a few bytes costs less than two vector searches and a copy. It returns how many bytes
// it took.
func (s *scanner) begin(p []byte) int {
	next := inString
	if s.state == atFirstKey || s.state == atKey {
		next = inKey
	}
	near := p[1:min(len(p), nearby)]
	for i, c := range near {
		if c == '"' {
			s.over = false
			return s.takeWhole(next, near[:i], p[i+2:]) + i + 2
		}
		if c == '\\' {
			break
		}
	}
	s.beginToken(next)
	return 1
}

// beginNumber takes a number, whole if it is a plain one that ends in this piece. It returns how many bytes it took.
func (s *scanner) beginNumber(p []byte) int {
	s.answer.odd = s.answer.odd || s.place == placeUsage
	s.beginToken(inWord)
	for i, c := range p {
		if c == ',' || c == '}' {
			s.takeWord(p[:i])
			return i
		}
		if c < '0' || c > '9' {
			break
		}
	}
	return s.scanWord(p)
}

// takeWhole takes a whole name or string. It returns how many bytes of the rest it took: the colon after a name, if that is
// next.
func (s *scanner) takeWhole(as scanState, token, rest []byte) int {
	if as == inKey {
		s.place = s.takeName(token)
		if len(rest) > 0 && rest[0] == ':' {
			s.state = atValue
			return 1
		}
		s.state = atColon
		return 0
	}
	s.state = inString
	s.measure(token)
	s.takeString(token)
	return 0
}

// scanString takes the bytes of a string up to its end. It does not search for the quote again at every backslash, or a long
// text with many escapes would take quadratic time.
func (s *scanner) scanString(p []byte) int {
	quote := indexFrom(p, 0, '"')
	for i := 0; i < len(p); {
		if s.escape != 0 {
			s.unescape(p[i])
			if i++; quote < i {
				quote = indexFrom(p, i, '"')
			}
			continue
		}
		if b := bytes.IndexByte(p[i:quote], '\\'); b >= 0 {
			s.keep(p[i : i+b])
			s.escape = 1
			i += b + 1
			continue
		}
		s.keep(p[i:quote])
		i = quote
		if quote < len(p) {
			s.measure(p[:quote])
			s.endString()
			return quote + 1
		}
	}
	s.measure(p)
	return len(p)
}

// indexFrom is the index of c in p at i or later, len(p) if there is none.
func indexFrom(p []byte, i int, c byte) int {
	if n := bytes.IndexByte(p[i:], c); n >= 0 {
		return i + n
	}
	return len(p)
}

func (s *scanner) endString() {
	switch s.state {
	case inSkippedString:
		s.state = inSkipped
	case inKey:
		s.state = atColon
		s.place = s.takeName(s.token)
	default:
		s.takeString(s.token)
	}
}

// scanWord takes the bytes of a number or literal, without the byte that ends it.
func (s *scanner) scanWord(p []byte) int {
	for i, c := range p {
		if c == ',' || c == '}' || c == ']' || c <= ' ' {
			s.keep(p[:i])
			s.takeWord(s.token)
			return i
		}
	}
	s.keep(p)
	return len(p)
}

// scanSkipped counts brackets until the skipped value is closed. It does not distinguish braces from brackets, because nothing
// in the value is read.
func (s *scanner) scanSkipped(p []byte) int {
	for i, c := range p {
		switch c {
		case '"':
			s.state = inSkippedString
			return i + 1
		case '{', '[':
			s.skipped++
		case '}', ']':
			if s.skipped--; s.skipped == 0 {
				s.state = atComma
				return i + 1
			}
		}
	}
	return len(p)
}
