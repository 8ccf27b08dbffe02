package meter

import (
	"bytes"
	"unicode/utf8"

	"sluice/policy/strictjson"
)

// scanEvent is what a scanner has found.
type scanEvent uint8

// The events. After scanOpened, [scanner.skipRest] skips the rest of the object or array.
const (
	scanMore   scanEvent = iota // the piece has no further event
	scanFault                   // the document is not JSON: no further event
	scanOpened                  // an object or an array begins
	scanClosed                  // an object or an array ends
	scanNamed                   // a member's name, the token; its value comes next
	scanPart                    // a part of a string that continues in the next piece
	scanEnded                   // a string ends: its last part, and the token
	scanWord                    // a number, a literal or an invalid word: the token
)

// scanState is what comes next in a document.
type scanState uint8

const (
	atStart scanState = iota // the document's opening brace
	atColon
	atComma        // a comma, or the end of the object or array
	atFirstKey     // a name, or the end of an empty object
	atKey          // a name
	atFirstElement // a value, or the end of an empty array
	atValue
	inKey     // inside a name
	inString  // inside a string value
	inWord    // inside a number, true, false or null
	inSkipped // inside a skipped object or array
	inSkippedString
	atEnd   // the document is closed; only white space may follow
	atFault // the document is not JSON
)

const (
	// maxToken bounds the kept bytes of a name or a value.
	maxToken = 1024
	// maxScanDepth is how deep a scanner reads: the caller MUST skip deeper objects and arrays.
	maxScanDepth = 32
	// nearby is how many bytes a short loop examines for the end of a name or string before a full search.
	nearby = 48
)

// scanner walks one document, an object, that arrives in pieces of any size, and reports events. It keeps one short token, so the size
// and depth of a document cost no memory. Reading an answer must not fail, so the scanner checks no more than it needs to find values,
// and skips unknown ones by counting brackets. A scanner must not be copied.
type scanner struct {
	keep    bool   // the token of the next string is its text; false: the token may be empty, and only the parts are reported
	array   bool   // the last opened object or array is an array
	found   []byte // the token of the last event: the name, text or word; valid until next
	over    bool   // the token is longer than maxToken; found is its beginning
	part    []byte // the part of a string, with escapes
	decoded int    // the part's length without escapes

	src     []byte
	pos     int
	token   []byte // the kept bytes of the token, in room while they fit
	state   scanState
	escape  uint8 // inside a string: 0, or 1 + bytes seen of an escape sequence
	begun   bool  // the document began like an object
	depth   int8
	arrays  uint32 // a bit for each level: it is an array
	unit    rune   // the code unit of a \u escape
	skipped int    // open brackets inside a skipped value
	room    [64]byte
}

// restart begins another document.
func (s *scanner) restart() {
	s.state, s.depth, s.escape, s.arrays, s.begun = atStart, 0, 0, 0, false
	if s.token == nil {
		s.token = s.room[:0]
	}
}

// feed takes the next piece of the document. [scanner.next] returns its events until scanMore. The piece is not kept after that.
func (s *scanner) feed(p []byte) { s.src, s.pos = p, 0 }

// done reports whether the document was closed, and nothing but white space followed.
func (s *scanner) done() bool { return s.state == atEnd }

// skipRest skips the rest of the object or array that was just opened. No scanClosed follows.
func (s *scanner) skipRest() {
	s.depth--
	s.state, s.skipped = inSkipped, 1
}

// next returns the next event of the piece.
func (s *scanner) next() scanEvent {
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		event := scanMore
		switch {
		case s.state >= inKey:
			event = s.resume(c)
		case c == '"' && s.state >= atFirstKey:
			event = s.begin()
		case c == ',' && s.state == atComma:
			s.afterValue()
		case c <= ' ':
			s.pos++
		case c-'0' <= 9 && s.state == atValue:
			event = s.beginWord()
		default:
			s.pos++
			event = s.step(c)
		}
		if event != scanMore {
			return event
		}
	}
	return scanMore
}

// afterValue takes the comma after a value, if it is next.
func (s *scanner) afterValue() {
	if s.state = atComma; s.pos < len(s.src) && s.src[s.pos] == ',' {
		s.pos++
		if s.state = atKey; s.inArray() {
			s.state = atValue
		}
	}
}

func (s *scanner) inArray() bool { return s.arrays>>(s.depth&31)&1 != 0 }

// step takes one byte of the document's structure, or the first byte of a word.
func (s *scanner) step(c byte) scanEvent {
	array := s.inArray()
	switch {
	case s.state == atColon && c == ':':
		s.state = atValue
		return scanMore
	case c == ']' && array && (s.state == atComma || s.state == atFirstElement),
		c == '}' && !array && (s.state == atComma || s.state == atFirstKey):
		if s.depth--; s.depth == 0 {
			s.state = atEnd
		} else {
			s.state = atComma
		}
		return scanClosed
	case s.state == atStart && c == '{', s.state == atValue, s.state == atFirstElement:
		return s.value(c)
	}
	return s.fail()
}

func (s *scanner) fail() scanEvent {
	s.state = atFault
	return scanFault
}

// value takes the first byte of a value.
func (s *scanner) value(c byte) scanEvent {
	switch {
	case c == '{':
		s.depth++
		s.state, s.begun, s.array = atFirstKey, true, false
		s.arrays &^= 1 << (s.depth & 31)
		return scanOpened
	case c == '[':
		s.depth++
		s.state, s.array = atFirstElement, true
		s.arrays |= 1 << (s.depth & 31)
		return scanOpened
	case c == '-', c-'0' <= 9, c == 't', c == 'f', c == 'n':
		s.pos--
		return s.beginWord()
	}
	return s.fail()
}

// resume continues a name, string, word or skipped value.
func (s *scanner) resume(c byte) scanEvent {
	switch {
	case s.state == inWord:
		return s.word()
	case s.state == inSkipped:
		s.skip()
		return scanMore
	case s.state <= inSkippedString:
		return s.string()
	case s.state == atEnd && c <= ' ':
		s.pos++
		return scanMore
	}
	return s.fail()
}

// begin takes the quote that opens a name or string. A short one without escapes, as nearly all are, is taken whole: a loop over a few
// bytes costs less than two vector searches and a copy.
func (s *scanner) begin() scanEvent {
	near := s.src[s.pos+1 : min(len(s.src), s.pos+nearby)]
	if s.over = false; s.state <= atKey {
		s.state = inKey
	} else {
		s.state = inString
	}
	for i, c := range near {
		if c == '"' {
			s.pos += i + 2
			s.part, s.decoded = near[:i], i
			return s.ended(near[:i])
		}
		if c == '\\' {
			break
		}
	}
	s.token = s.token[:0]
	s.pos++
	return s.string()
}

// ended takes the end of a string; after a name also the colon, if it is next.
func (s *scanner) ended(token []byte) scanEvent {
	s.found = token
	switch s.state {
	case inString:
		s.afterValue()
		return scanEnded
	case inSkippedString:
		s.state = inSkipped
		return scanMore
	}
	s.state = atColon
	if s.pos < len(s.src) && s.src[s.pos] == ':' {
		s.pos++
		s.state = atValue
	}
	return scanNamed
}

// string takes the bytes of a string up to its end. It does not repeat the search for the quote at every backslash: a long text with
// many escapes would take quadratic time.
func (s *scanner) string() scanEvent {
	p := s.src[s.pos:]
	s.decoded = 0
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
			s.store(p[i : i+b])
			s.escape = 1
			i += b + 1
			continue
		}
		s.store(p[i:quote])
		if i = quote; quote < len(p) {
			s.pos += quote + 1
			s.part, s.decoded = p[:quote], s.decoded+quote
			return s.ended(s.token)
		}
	}
	s.pos = len(s.src)
	if s.part, s.decoded = p, s.decoded+len(p); s.state == inString {
		return scanPart
	}
	return scanMore
}

// store adds bytes to the token, if it is kept.
func (s *scanner) store(p []byte) {
	if s.state == inSkippedString || s.state == inString && !s.keep {
		return
	}
	if room := maxToken - len(s.token); len(p) > room {
		p, s.over = p[:room], true
	}
	s.token = append(s.token, p...)
}

// unescape takes the next byte of an escape sequence. It accepts invalid sequences, which cannot move the string's end. Half of a
// surrogate pair counts as half of the pair's four bytes in UTF-8, and is kept as U+FFFD.
func (s *scanner) unescape(c byte) {
	switch {
	case s.escape == 1 && c == 'u':
		s.escape, s.unit = 2, 0
		return
	case s.escape == 1:
		if s.unit = strictjson.SimpleEscape(c); s.unit < 0 {
			s.unit = rune(c) & 0x7f
		}
	default:
		s.unit = s.unit<<4 | max(strictjson.HexDigit(c), 0)
		if s.escape++; s.escape < 6 {
			return
		}
	}
	length := utf8.RuneLen(s.unit)
	if length < 0 {
		length, s.unit = 2, utf8.RuneError
	}
	s.decoded += length - max(2, int(s.escape))
	s.escape = 0
	var encoded [utf8.UTFMax]byte
	s.store(utf8.AppendRune(encoded[:0], s.unit))
}

// beginWord takes a number or a literal; a non-negative integer that ends in this piece is taken whole.
func (s *scanner) beginWord() scanEvent {
	s.over = false
	for i, c := range s.src[s.pos:] {
		if c == ',' || c == '}' {
			s.found = s.src[s.pos : s.pos+i]
			s.pos += i
			s.afterValue()
			return scanWord
		}
		if c-'0' > 9 {
			break
		}
	}
	s.state, s.token = inWord, s.token[:0]
	return s.word()
}

// word takes the bytes of a number or literal, without the byte that ends it.
func (s *scanner) word() scanEvent {
	p := s.src[s.pos:]
	for i, c := range p {
		if c == ',' || c == '}' || c == ']' || c <= ' ' {
			s.store(p[:i])
			s.found = s.token
			s.pos += i
			s.state = atComma
			return scanWord
		}
	}
	s.store(p)
	s.pos = len(s.src)
	return scanMore
}

// skip counts brackets until the skipped value is closed. Braces count as brackets, because nothing in the value is read.
func (s *scanner) skip() {
	for i, c := range s.src[s.pos:] {
		switch c {
		case '"':
			s.pos += i + 1
			s.state = inSkippedString
			return
		case '{', '[':
			s.skipped++
		case '}', ']':
			if s.skipped--; s.skipped == 0 {
				s.pos += i + 1
				s.state = atComma
				return
			}
		}
	}
	s.pos = len(s.src)
}
