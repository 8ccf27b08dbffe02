package telemetry

import "bytes"

// scanState is what the scanner expects next.
type scanState uint8

const (
	atStart    scanState = iota // the document's opening brace
	atFirstKey                  // a name, or the end of an empty object
	atKey                       // a name
	atColon
	atFirstElement // a value, or the end of an empty array
	atValue
	atComma   // a comma, or the end of the object or array
	inKey     // inside a name
	inString  // inside a string value
	inWord    // inside a number, true, false or null
	inSkipped // inside an object or array that is not read
	inSkippedString
	atEnd  // the document is closed; only white space may follow
	atLoss // the document is not JSON
)

// maxDepth is how deep the scanner looks; what lies deeper is stepped over. The deepest known place is at six.
const maxDepth = 12

// level is an open object or array.
type level struct {
	place  place
	array  bool
	prefix uint8 // inside usage: length of the path that names the object
}

// scanner walks one JSON document that comes in pieces. It is lenient where that cannot change what it reads, keeps
// nothing but one short token, and tells its Meter about values at known places. Objects and arrays that are not read
// are only counted through, so that documents of any size and depth cost no memory.
type scanner struct {
	state   scanState
	escape  uint8 // inside a string: 0, or 1 + bytes seen of an escape sequence
	over    bool  // the token was longer than maxToken
	depth   int8
	place   place // of the value that comes next or is being read
	unit    rune  // of a \u escape
	skipped int   // open brackets inside a skipped value
	levels  [maxDepth]level
}

// feed walks the next piece of the document.
func (m *Meter) feed(p []byte) {
	for i := 0; i < len(p); {
		switch m.state {
		case inKey, inString, inSkippedString:
			i += m.scanString(p[i:])
		case inWord:
			i += m.scanWord(p[i:])
		case inSkipped:
			i += m.scanSkipped(p[i:])
		case atLoss:
			return
		default:
			if c := p[i]; c > ' ' {
				m.step(c)
			}
			i++
		}
	}
}

// step takes one byte of the document's structure.
func (m *Meter) step(c byte) {
	switch m.state {
	case atComma:
		m.afterValue(c)
	case atFirstKey, atKey:
		switch {
		case c == '"':
			m.beginToken(inKey)
		case c == '}' && m.state == atFirstKey:
			m.leave()
		default:
			m.state = atLoss
		}
	case atColon:
		m.state = atLoss
		if c == ':' {
			m.state = atValue
		}
	case atFirstElement:
		if c == ']' {
			m.leave()
			return
		}
		m.beginValue(c)
	case atValue:
		m.beginValue(c)
	case atStart:
		m.state = atLoss
		if c == '{' {
			m.enter(placeRoot, false)
		} else {
			m.strange = true
		}
	default:
		m.state = atLoss
	}
}

func (m *Meter) afterValue(c byte) {
	top := m.levels[m.depth-1]
	switch {
	case c == ',' && top.array:
		m.state, m.place = atValue, elements[top.place]
	case c == ',':
		m.state = atKey
	case c == ']' && top.array, c == '}' && !top.array:
		m.leave()
	default:
		m.state = atLoss
	}
}

func (m *Meter) beginValue(c byte) {
	if m.place == placeUsage && c != '{' && c != 'n' {
		m.odd = true
	}
	switch {
	case c == '"':
		m.beginToken(inString)
	case c == '{':
		m.open(m.place.object(), false)
	case c == '[':
		array := m.place
		if elements[array] == nowhere {
			array = nowhere
		}
		m.open(array, true)
	case c == '-', c >= '0' && c <= '9', c == 't', c == 'f', c == 'n':
		m.beginToken(inWord)
		m.token = append(m.token, c)
	default:
		m.state = atLoss
	}
}

// open goes into an object or array, or begins to step over it.
func (m *Meter) open(p place, array bool) {
	if p == nowhere || m.depth == maxDepth {
		m.state, m.skipped = inSkipped, 1
		return
	}
	m.enter(p, array)
}

func (m *Meter) enter(p place, array bool) {
	m.levels[m.depth] = level{place: p, array: array}
	m.depth++
	if array {
		m.state, m.place = atFirstElement, elements[p]
		return
	}
	m.state = atFirstKey
	m.entered(p)
}

func (m *Meter) leave() {
	m.depth--
	if top := m.levels[m.depth]; !top.array {
		m.left(top.place)
	}
	m.state = atComma
	if m.depth == 0 {
		m.state = atEnd
	}
}

// scanWord takes the bytes of a number or literal. The byte that ends it belongs to what follows.
func (m *Meter) scanWord(p []byte) int {
	for i, c := range p {
		if c == ',' || c == '}' || c == ']' || c <= ' ' {
			m.keep(p[:i])
			m.state = atComma
			m.takeWord()
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
		m.place = m.takeName()
	default:
		m.state = atComma
		m.takeString()
	}
}
