package meter

import "bytes"

// nearby is how far begin looks for the end of a name or string.
const nearby = 48

// begin takes the quote that opens a name or string value. If its end is near and it has no escapes, as with nearly all
// but the model's texts, it is taken whole: looking at few bytes one by one costs less than two vector searches and a
// copy. It returns how many bytes it took.
func (m *Meter) begin(p []byte) int {
	next := inString
	if m.state == atFirstKey || m.state == atKey {
		next = inKey
	}
	near := p[1:min(len(p), nearby)]
	for i, c := range near {
		if c == '"' {
			m.over = false
			return m.takeWhole(next, near[:i], p[i+2:]) + i + 2
		}
		if c == '\\' {
			break
		}
	}
	m.beginToken(next)
	return 1
}

// beginNumber takes a number, whole if it is a plain one whose end is at hand. It returns how many bytes it took.
func (m *Meter) beginNumber(p []byte) int {
	m.odd = m.odd || m.place == placeUsage
	m.beginToken(inWord)
	for i, c := range p {
		if c == ',' || c == '}' {
			m.takeWord(p[:i])
			m.valueDone()
			return i
		}
		if c < '0' || c > '9' {
			break
		}
	}
	return m.scanWord(p)
}

// takeWhole takes a whole name or string, and the colon after a name if it is the next byte; it returns the bytes taken
// of the rest.
func (m *Meter) takeWhole(as scanState, token, rest []byte) int {
	if as == inKey {
		m.place = m.takeName(token)
		if len(rest) > 0 && rest[0] == ':' {
			m.state = atValue
			return 1
		}
		m.state = atColon
		return 0
	}
	m.state = inString
	m.measure(token)
	m.takeString(token)
	m.valueDone()
	return 0
}

// scanString takes the bytes of a string up to its end. The search for the quote is not repeated at every backslash,
// or a long text of many escapes would take quadratic time.
func (m *Meter) scanString(p []byte) int {
	quote := indexFrom(p, 0, '"')
	for i := 0; i < len(p); {
		if m.escape != 0 {
			m.unescape(p[i])
			if i++; quote < i {
				quote = indexFrom(p, i, '"')
			}
			continue
		}
		if b := bytes.IndexByte(p[i:quote], '\\'); b >= 0 {
			m.keep(p[i : i+b])
			m.escape = 1
			i += b + 1
			continue
		}
		m.keep(p[i:quote])
		i = quote
		if quote < len(p) {
			m.measure(p[:quote])
			m.endString()
			return quote + 1
		}
	}
	m.measure(p)
	return len(p)
}

// indexFrom is the index of c in p at i or later, len(p) if there is none.
func indexFrom(p []byte, i int, c byte) int {
	if n := bytes.IndexByte(p[i:], c); n >= 0 {
		return i + n
	}
	return len(p)
}

func (m *Meter) endString() {
	switch m.state {
	case inSkippedString:
		m.state = inSkipped
	case inKey:
		m.state = atColon
		m.place = m.takeName(m.token)
	default:
		m.takeString(m.token)
		m.valueDone()
	}
}

// valueDone is called after every string, number and literal.
func (m *Meter) valueDone() { m.state = atComma }

// scanWord takes the bytes of a number or literal. The byte that ends it belongs to what follows.
func (m *Meter) scanWord(p []byte) int {
	for i, c := range p {
		if c == ',' || c == '}' || c == ']' || c <= ' ' {
			m.keep(p[:i])
			m.takeWord(m.token)
			m.valueDone()
			return i
		}
	}
	m.keep(p)
	return len(p)
}

// scanSkipped counts brackets until the skipped value is closed. It does not tell braces from brackets: a document
// that mixes them up is upstream's affair, and nothing in there is read.
func (m *Meter) scanSkipped(p []byte) int {
	for i, c := range p {
		switch c {
		case '"':
			m.state = inSkippedString
			return i + 1
		case '{', '[':
			m.skipped++
		case '}', ']':
			if m.skipped--; m.skipped == 0 {
				m.state = atComma
				return i + 1
			}
		}
	}
	return len(p)
}
