package meter

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

	slot    int8   // of the choice being read
	choices int8   // seen in this frame
	reason  string // the finish reason of the choice being read
	pathLen uint8
	path    [maxPath]byte // of the usage number being read, below usage
}

// feed walks the next piece of the document.
func (m *Meter) feed(p []byte) {
	for i := 0; i < len(p); {
		c := p[i]
		switch {
		case m.state == atLoss:
			return
		case m.state >= inKey:
			i += m.resume(p[i:])
			continue
		case c == '"' && m.state != atStart && m.state != atColon && m.state != atComma:
			m.odd = m.odd || m.place == placeUsage && (m.state == atValue || m.state == atFirstElement)
			i += m.begin(p[i:])
			continue
		case m.state == atValue && c >= '0' && c <= '9':
			i += m.beginNumber(p[i:])
			continue
		case c <= ' ':
		case m.state == atComma:
			m.afterValue(c)
		default:
			m.step(c)
		}
		i++
	}
}

// resume goes on with what an earlier byte began, and returns how many bytes it took.
func (m *Meter) resume(p []byte) int {
	switch m.state {
	case inKey, inString, inSkippedString:
		return m.scanString(p)
	case inWord:
		return m.scanWord(p)
	case inSkipped:
		return m.scanSkipped(p)
	}
	if p[0] > ' ' { // after the document's end
		m.state = atLoss
	}
	return 1
}

// step takes one byte of the document's structure, other than a quote or what follows a value.
func (m *Meter) step(c byte) {
	switch m.state {
	case atFirstKey, atKey:
		if c != '}' || m.state != atFirstKey {
			m.state = atLoss
			return
		}
		m.leave()
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
	m.odd = m.odd || m.place == placeUsage && c != '{' && c != 'n'
	switch {
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
