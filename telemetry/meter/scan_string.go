package meter

import "bytes"

// nearby is how far begin looks for the end of a name or string.
const nearby = 48

// begin takes the quote that opens a name or string value. If its end is near and it has no escapes, as with nearly all
// but the model's texts, it is taken whole: looking at few bytes one by one costs less than two vector searches and a
// copy. It returns how many bytes it took.
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

// beginNumber takes a number, whole if it is a plain one whose end is at hand. It returns how many bytes it took.
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

// takeWhole takes a whole name or string, and the colon after a name if it is the next byte; it returns the bytes taken
// of the rest.
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

// scanString takes the bytes of a string up to its end. The search for the quote is not repeated at every backslash,
// or a long text of many escapes would take quadratic time.
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

// scanWord takes the bytes of a number or literal. The byte that ends it belongs to what follows.
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

// scanSkipped counts brackets until the skipped value is closed. It does not tell braces from brackets: a document
// that mixes them up is upstream's affair, and nothing in there is read.
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
