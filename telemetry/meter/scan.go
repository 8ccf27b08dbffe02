package meter

// scanState is the kind of token that the scanner expects next.
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
	atLoss // the document is not JSON; nothing more is read
)

// maxDepth is how deep the scanner reads; deeper values are stepped over. The deepest known place is at six.
const maxDepth = 12

// level is an open object or array.
type level struct {
	place  place
	array  bool
	prefix uint8 // in usage: length of the path that names the object
}

// cursor is where in a document the scanner stands.
type cursor struct {
	state   scanState
	escape  uint8 // inside a string: 0, or 1 + bytes seen of an escape sequence
	over    bool  // the token was longer than maxToken
	depth   int8
	place   place // of the value that comes next or is being read
	unit    rune  // of a \u escape
	skipped int   // open brackets inside a skipped value
	levels  [maxDepth]level

	pathLen uint8
	path    [maxPath]byte // of the usage number being read, below usage
}

// scanner walks one JSON document that comes in pieces and tells the answer of values at known places. It keeps one short
// token. It is lenient where that cannot change what it reads, and steps over values of no interest by counting brackets, so
// that documents of any size and depth cost no memory.
type scanner struct {
	cursor
	answer  *answer
	strange bool   // the document did not begin like a JSON object
	token   []byte // the name or value being read
	room    [64]byte
}

// read walks the next piece of the document.
func (s *scanner) read(p []byte) {
	for i := 0; i < len(p); {
		c := p[i]
		switch {
		case s.state == atLoss:
			return
		case s.state >= inKey:
			i += s.resume(p[i:])
			continue
		case c == '"' && s.state != atStart && s.state != atColon && s.state != atComma:
			s.answer.odd = s.answer.odd || s.place == placeUsage && (s.state == atValue || s.state == atFirstElement)
			i += s.begin(p[i:])
			continue
		case s.state == atValue && c >= '0' && c <= '9':
			i += s.beginNumber(p[i:])
			continue
		case c <= ' ':
		case s.state == atComma:
			s.afterValue(c)
		default:
			s.step(c)
		}
		i++
	}
}

// resume continues a name, string, word or skipped value, and returns how many bytes it took.
func (s *scanner) resume(p []byte) int {
	switch s.state {
	case inKey, inString, inSkippedString:
		return s.scanString(p)
	case inWord:
		return s.scanWord(p)
	case inSkipped:
		return s.scanSkipped(p)
	}
	if p[0] > ' ' { // after the document's end
		s.state = atLoss
	}
	return 1
}

// step takes one byte of the document's structure, except quotes and the byte after a value.
func (s *scanner) step(c byte) {
	switch s.state {
	case atFirstKey, atKey:
		if c != '}' || s.state != atFirstKey {
			s.state = atLoss
			return
		}
		s.leave()
	case atColon:
		s.state = atLoss
		if c == ':' {
			s.state = atValue
		}
	case atFirstElement:
		if c == ']' {
			s.leave()
			return
		}
		s.beginValue(c)
	case atValue:
		s.beginValue(c)
	case atStart:
		s.state = atLoss
		if c == '{' {
			s.enter(placeRoot, false)
		} else {
			s.strange = true
		}
	default:
		s.state = atLoss
	}
}

func (s *scanner) afterValue(c byte) {
	top := s.levels[s.depth-1]
	switch {
	case c == ',' && top.array:
		s.state, s.place = atValue, elements[top.place]
	case c == ',':
		s.state = atKey
	case c == ']' && top.array, c == '}' && !top.array:
		s.leave()
	default:
		s.state = atLoss
	}
}

func (s *scanner) beginValue(c byte) {
	s.answer.odd = s.answer.odd || s.place == placeUsage && c != '{' && c != 'n'
	switch {
	case c == '{':
		s.open(s.place.object(), false)
	case c == '[':
		array := s.place
		if elements[array] == nowhere {
			array = nowhere
		}
		s.open(array, true)
	case c == '-', c >= '0' && c <= '9', c == 't', c == 'f', c == 'n':
		s.beginToken(inWord)
		s.token = append(s.token, c)
	default:
		s.state = atLoss
	}
}

// open enters an object or array, or begins to step over it.
func (s *scanner) open(p place, array bool) {
	if p == nowhere || s.depth == maxDepth {
		s.state, s.skipped = inSkipped, 1
		return
	}
	s.enter(p, array)
}

func (s *scanner) enter(p place, array bool) {
	s.levels[s.depth] = level{place: p, array: array}
	s.depth++
	if array {
		s.state, s.place = atFirstElement, elements[p]
		return
	}
	s.state = atFirstKey
	switch p {
	case placeChoice:
		s.answer.beginChoice()
	case placeToolCall:
		s.answer.hasContent = true
	case placeUsage:
		s.enterUsage()
	}
}

// enterUsage makes names in a nested object of the usage continue the path of that object.
func (s *scanner) enterUsage() {
	top := s.depth - 1
	if s.levels[top-1].place != placeUsage {
		return
	}
	if s.pathLen < maxPath {
		s.path[s.pathLen] = '.'
		s.pathLen++
	}
	s.levels[top].prefix = s.pathLen
}

func (s *scanner) leave() {
	s.depth--
	if s.levels[s.depth].place == placeChoice {
		s.answer.endChoice()
	}
	s.state = atComma
	if s.depth == 0 {
		s.state = atEnd
	}
}
