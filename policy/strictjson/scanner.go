// Package strictjson reads one JSON document in order, for a gateway that forwards the very bytes it judged. It does not decode into
// Go values: the caller walks the document and keeps what it needs. There are three ways to walk:
//
//   - A [Scanner] walks by callbacks and is strict: beside what RFC 8259 forbids, it refuses what two parsers could take for two
//     different documents: duplicate member names, known names in another case, invalid UTF-8, lone surrogates, and documents of
//     extreme depth, width or length of names and numbers.
//   - A [Reader] walks by loops and takes every document that RFC 8259 allows: an answer that is paid for must not fail.
//   - A [Stream] walks a document that comes in pieces, in bounded memory, and checks no more than it needs to find values.
//
// The package knows nothing of requests and answers, so that policy, telemetry and gateway may all import it.
//
// A tokenizer that returns tokens costs several times as much on a body whose bulk is one base64 string, and a check
// for duplicates has to see through escapes. A fuzz target of package policy holds this one to jsontext.
package strictjson

// The limits of a document. They bound the cost of a hostile one; real clients stay far below.
const (
	maxNesting    = 64      // arrays and objects inside one another; the document itself is 1
	maxMembers    = 10_000  // members of one object
	maxAllMembers = 100_000 // members of all objects
	maxName       = 256     // bytes of a member name, escapes resolved
	maxNumber     = 64      // bytes of a number
	maxLoose      = 10_000  // nesting of a loose scanner, whose calls nest as deep
)

// Scanner walks one document. It keeps nothing of it but the names of the objects that are open. The zero Scanner
// reads an empty input; Reset gives it another. Every error of its methods is of type [*Error]; after one, only Reset
// may be called.
type Scanner struct {
	lexer
	members int // of the document so far
	open    openNames
}

// lexer reads the parts of a document.
type lexer struct {
	src   []byte
	pos   int
	depth int
	wide  wideCount
	loose bool // take what RFC 8259 allows: no limits, and names are not compared
}

// wideCount counts the characters beyond ASCII that stand in the document unescaped.
type wideCount struct{ points, bytes int }

// maxKept is for how many names a Scanner may keep room: one body of ten thousand members must not hold memory forever.
const maxKept = 1024

// Reset makes the scanner read src from its beginning. Room for names is kept.
func (s *Scanner) Reset(src []byte) {
	open := s.open
	if cap(open.refs) > maxKept || cap(open.text) > maxKept*16 {
		open = openNames{}
	}
	*s = Scanner{lexer: lexer{src: src}, open: openNames{refs: open.refs[:0], text: open.text[:0], slots: open.slots[:0]}}
}

// Rest returns the unread input, beginning with the next value. It is part of the input.
func (s *lexer) Rest() []byte {
	s.peek()
	return s.src[s.pos:]
}

// Raw is the text between its quotes, escapes unresolved. It is part of the input.
func (s *lexer) Raw(t Text) []byte { return s.src[t.start:t.end] }

// Source counts the characters of the input up to here as they are written: an escape counts each of its characters.
func (s *lexer) Source() Count {
	return Count{ASCII: s.pos - s.wide.bytes, Wide: s.wide.points}
}

// peek skips white space and returns the byte that decides what comes next, 0 at the end of the input. A NUL byte in
// the input looks the same and is as wrong.
func (s *lexer) peek() byte {
	for ; s.pos < len(s.src); s.pos++ {
		if c := s.src[s.pos]; c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
	}
	return 0
}

// at is the byte at i, 0 past the end.
func (s *lexer) at(i int) byte {
	if i < len(s.src) {
		return s.src[i]
	}
	return 0
}

// take consumes the byte c, which must come next.
func (s *lexer) take(c byte) error {
	if s.peek() != c {
		return s.fail(s.pos, FaultSyntax)
	}
	s.pos++
	return nil
}

// word consumes one of the literals true, false and null.
func (s *lexer) word(w string) error {
	if len(s.src)-s.pos < len(w) || string(s.src[s.pos:s.pos+len(w)]) != w {
		return s.fail(s.pos, FaultSyntax)
	}
	s.pos += len(w)
	return nil
}

// enter opens an array or an object.
func (s *lexer) enter() error {
	if s.depth++; s.depth > maxNesting && (!s.loose || s.depth > maxLoose) {
		return s.fail(s.pos, FaultDepth)
	}
	s.pos++
	return nil
}

// more reports whether another element or member follows, and consumes the comma before it or the closing byte.
func (s *lexer) more(first bool, closing byte) (bool, error) {
	switch c := s.peek(); {
	case c == closing:
		s.pos++
		s.depth--
		return false, nil
	case first:
		return true, nil
	case c != ',':
		return false, s.fail(s.pos, FaultSyntax)
	}
	s.pos++
	if s.peek() == closing { // a trailing comma
		return false, s.fail(s.pos, FaultSyntax)
	}
	return true, nil
}

// Shape is the JSON type of a value, with true and false apart. The zero value stands for a member that is not there.
type Shape uint8

// The shapes.
const (
	Absent Shape = iota
	Null
	False
	True
	Number
	String
	Array
	Object
)

// String names the shape as messages do: "a number".
func (s Shape) String() string {
	return [...]string{"nothing", "null", "false", "true", "a number", "a string", "an array", "an object"}[s]
}

// Shape is the shape of the value that comes next. It looks at the first byte only, so the value may still turn out to
// be malformed.
func (s *lexer) Shape() Shape {
	switch c := s.peek(); c {
	case '"':
		return String
	case '{':
		return Object
	case '[':
		return Array
	case 't':
		return True
	case 'f':
		return False
	case 'n':
		return Null
	}
	return Number // or no value at all, which Number finds out
}

// Number consumes a number as RFC 8259 writes it and returns its literal, which is part of the input.
func (s *lexer) Number() ([]byte, error) {
	start, end := s.pos, s.pos
	for end < len(s.src) && end-start < maxNumber && s.src[end]-'0' <= 9 {
		end++
	}
	if c := s.at(end); end > start && s.src[start] != '0' && c != '.' && c|0x20 != 'e' && c-'0' > 9 { // an integer, as most are
		s.pos = end
		return s.src[start:end], nil
	}
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
	if s.pos-start > maxNumber && !s.loose {
		return nil, s.fail(start, FaultLongNumber)
	}
	return s.src[start:s.pos], nil
}

// digits consumes one digit or more of the number that began at start. It stops as soon as the number is too long, so
// that ten megabytes of digits cost nothing.
func (s *lexer) digits(start int) error {
	from := s.pos
	for c := s.at(s.pos); c >= '0' && c <= '9'; c = s.at(s.pos) {
		if s.pos++; s.pos-start > maxNumber && !s.loose {
			return s.fail(start, FaultLongNumber)
		}
	}
	if s.pos == from {
		return s.fail(s.pos, FaultSyntax)
	}
	return nil
}
