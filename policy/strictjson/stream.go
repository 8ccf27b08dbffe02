package strictjson

import (
	"bytes"
	"unicode/utf8"
)

// Event is what a Stream has found.
type Event uint8

// The events. After Opened, [Stream.Skip] steps over the rest of the object or array.
const (
	More   Event = iota // nothing more in this piece
	Lost                // the document is not JSON: nothing more is found
	Opened              // an object or an array begins
	Closed              // it ends
	Named               // a member's name, which is the token; its value comes next
	Part                // a part of a string that goes on in the next piece
	Ended               // a string ends: its last part, and the token
	Word                // a number or a literal, or a text that is neither: the token
)

// streamState is what comes next in a document.
type streamState uint8

const (
	atStart streamState = iota // the document's opening brace
	atColon
	atComma        // a comma, or the end of the object or array
	atFirstKey     // a name, or the end of an empty object
	atKey          // a name
	atFirstElement // a value, or the end of an empty array
	atValue
	inKey     // inside a name
	inString  // inside a string value
	inWord    // inside a number, true, false or null
	inSkipped // inside an object or array that is stepped over
	inSkippedString
	atEnd  // the document is closed; only white space may follow
	atLoss // the document is not JSON
)

const (
	// MaxToken is how many bytes of a name or a value are kept.
	MaxToken = 1024
	// MaxStreamDepth is how deep a Stream reads: the caller MUST skip what is deeper.
	MaxStreamDepth = 32
	// nearby is how many bytes are looked at for the end of a name or string before all are searched.
	nearby = 48
)

// Stream walks one document, an object, that comes in pieces of any size, and reports what it finds piece by piece. It keeps one
// short token, so documents of any size and depth cost no memory. It is for reading along an answer that must not fail: it checks no
// more than it needs to find values, and steps over those of no interest by counting brackets. A Stream must not be copied.
type Stream struct {
	// Keep makes the token of the next string value its text; otherwise that may be empty, and the parts are all there is.
	Keep bool
	// Array says of which kind the last object or array is that was opened.
	Array bool

	src     []byte
	pos     int
	token   []byte // what was kept of the token, in room while it fits
	found   []byte // the token of the last event
	part    []byte
	decoded int
	state   streamState
	escape  uint8 // inside a string: 0, or 1 + bytes seen of an escape sequence
	over    bool
	begun   bool // the document began like an object
	depth   int8
	arrays  uint32 // a bit for each level
	unit    rune   // of a \u escape
	skipped int    // open brackets inside a skipped value
	room    [64]byte
}

// Restart begins another document.
func (s *Stream) Restart() {
	s.state, s.depth, s.escape, s.arrays, s.begun = atStart, 0, 0, 0, false
	if s.token == nil {
		s.token = s.room[:0]
	}
}

// Feed hands over the next piece of the document. [Stream.Next] finds what is in it, up to More. It is not kept.
func (s *Stream) Feed(p []byte) { s.src, s.pos = p, 0 }

// Token is the name, text or word that was found, at most MaxToken bytes of it; whole is false if it is longer. It is valid until Next.
func (s *Stream) Token() (token []byte, whole bool) { return s.found, !s.over }

// Part is the part of a string that was found, with its escapes, and by how many bytes it makes the decoded text longer.
func (s *Stream) Part() (raw []byte, decoded int) { return s.part, s.decoded }

// Done reports whether the document was closed, and nothing but white space followed.
func (s *Stream) Done() bool { return s.state == atEnd }

// Lost reports whether the document is not JSON; strange, whether it did not even begin like an object.
func (s *Stream) Lost() (lost, strange bool) { return s.state == atLoss, s.state == atLoss && !s.begun }

// Skip steps over the rest of the object or array that was just opened. It will not be closed.
func (s *Stream) Skip() {
	s.depth--
	s.state, s.skipped = inSkipped, 1
}

// Next finds the next event in the piece.
func (s *Stream) Next() Event {
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		event := More
		switch {
		case s.state >= inKey:
			event = s.resume(c)
		case c == '"' && s.state >= atFirstKey:
			event = s.begin()
		case c == ',' && s.state == atComma:
			s.behindValue()
		case c <= ' ':
			s.pos++
		case c-'0' <= 9 && s.state == atValue:
			event = s.beginWord()
		default:
			s.pos++
			event = s.step(c)
		}
		if event != More {
			return event
		}
	}
	return More
}

// behindValue takes the comma behind a value, if that is next.
func (s *Stream) behindValue() {
	if s.state = atComma; s.pos < len(s.src) && s.src[s.pos] == ',' {
		s.pos++
		if s.state = atKey; s.inArray() {
			s.state = atValue
		}
	}
}

func (s *Stream) inArray() bool { return s.arrays>>(s.depth&31)&1 != 0 }

// step takes one byte of the document's structure, or the first of a word.
func (s *Stream) step(c byte) Event {
	array := s.inArray()
	switch {
	case s.state == atColon && c == ':':
		s.state = atValue
		return More
	case c == ']' && array && (s.state == atComma || s.state == atFirstElement),
		c == '}' && !array && (s.state == atComma || s.state == atFirstKey):
		if s.depth--; s.depth == 0 {
			s.state = atEnd
		} else {
			s.state = atComma
		}
		return Closed
	case s.state == atStart && c == '{', s.state == atValue, s.state == atFirstElement:
		return s.value(c)
	}
	s.state = atLoss
	return Lost
}

// value takes the first byte of a value.
func (s *Stream) value(c byte) Event {
	switch {
	case c == '{':
		s.depth++
		s.state, s.begun, s.Array = atFirstKey, true, false
		s.arrays &^= 1 << (s.depth & 31)
		return Opened
	case c == '[':
		s.depth++
		s.state, s.Array = atFirstElement, true
		s.arrays |= 1 << (s.depth & 31)
		return Opened
	case c == '-', c-'0' <= 9, c == 't', c == 'f', c == 'n':
		s.pos--
		return s.beginWord()
	}
	s.state = atLoss
	return Lost
}

// resume continues a name, string, word or skipped value.
func (s *Stream) resume(c byte) Event {
	switch {
	case s.state == inWord:
		return s.word()
	case s.state == inSkipped:
		s.skip()
		return More
	case s.state <= inSkippedString:
		return s.string()
	case s.state == atEnd && c <= ' ':
		s.pos++
		return More
	}
	s.state = atLoss
	return Lost
}

// begin takes the quote that opens a name or string. If its end is near and it has no escapes, like nearly all but long texts, it is
// taken whole: a loop over a few bytes costs less than two vector searches and a copy.
func (s *Stream) begin() Event {
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

// ended takes the end of a string; behind a name also the colon, if that is next.
func (s *Stream) ended(token []byte) Event {
	s.found = token
	switch s.state {
	case inString:
		s.behindValue()
		return Ended
	case inSkippedString:
		s.state = inSkipped
		return More
	}
	s.state = atColon
	if s.pos < len(s.src) && s.src[s.pos] == ':' {
		s.pos++
		s.state = atValue
	}
	return Named
}

// string takes the bytes of a string up to its end. It does not search for the quote again at every backslash, or a long text with
// many escapes would take quadratic time.
func (s *Stream) string() Event {
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
			s.keep(p[i : i+b])
			s.escape = 1
			i += b + 1
			continue
		}
		s.keep(p[i:quote])
		if i = quote; quote < len(p) {
			s.pos += quote + 1
			s.part, s.decoded = p[:quote], s.decoded+quote
			return s.ended(s.token)
		}
	}
	s.pos = len(s.src)
	if s.part, s.decoded = p, s.decoded+len(p); s.state == inString {
		return Part
	}
	return More
}

// indexFrom is the index of c in p at i or later, len(p) if there is none.
func indexFrom(p []byte, i int, c byte) int {
	if n := bytes.IndexByte(p[i:], c); n >= 0 {
		return i + n
	}
	return len(p)
}

// keep adds to the token, if it matters.
func (s *Stream) keep(p []byte) {
	if s.state == inSkippedString || s.state == inString && !s.Keep {
		return
	}
	if room := MaxToken - len(s.token); len(p) > room {
		p, s.over = p[:room], true
	}
	s.token = append(s.token, p...)
}

// unescape takes the next byte of an escape sequence. An invalid sequence is taken as if it were valid: it cannot move the string's end.
// Half of a surrogate pair counts as half of the pair's four bytes in UTF-8, and is kept as U+FFFD.
func (s *Stream) unescape(c byte) {
	switch {
	case s.escape == 1 && c == 'u':
		s.escape, s.unit = 2, 0
		return
	case s.escape == 1:
		if s.unit = simpleEscape(c); s.unit < 0 {
			s.unit = rune(c) & 0x7f
		}
	default:
		s.unit = s.unit<<4 | max(hexDigit(c), 0)
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
	s.keep(utf8.AppendRune(encoded[:0], s.unit))
}

// beginWord takes a number or a literal, whole if it is a plain integer that ends in this piece.
func (s *Stream) beginWord() Event {
	s.over = false
	for i, c := range s.src[s.pos:] {
		if c == ',' || c == '}' {
			s.found = s.src[s.pos : s.pos+i]
			s.pos += i
			s.behindValue()
			return Word
		}
		if c-'0' > 9 {
			break
		}
	}
	s.state, s.token = inWord, s.token[:0]
	return s.word()
}

// word takes the bytes of a number or literal, without the byte that ends it.
func (s *Stream) word() Event {
	p := s.src[s.pos:]
	for i, c := range p {
		if c == ',' || c == '}' || c == ']' || c <= ' ' {
			s.keep(p[:i])
			s.found = s.token
			s.pos += i
			s.state = atComma
			return Word
		}
	}
	s.keep(p)
	s.pos = len(s.src)
	return More
}

// skip counts brackets until the skipped value is closed. It does not distinguish braces from brackets, because nothing in the value is
// read.
func (s *Stream) skip() {
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
