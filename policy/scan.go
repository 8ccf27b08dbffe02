package policy

// The limits of the strict pass (design, "Request rules"). They bound what one body can cost before anything of it is
// believed: no limit is near anything that a client of the service sends.
const (
	maxNesting    = 64      // arrays and objects inside one another; the document itself is 1
	maxMembers    = 10_000  // members of one object
	maxAllMembers = 100_000 // members of all objects
	maxName       = 256     // bytes of a member name, escapes resolved
	maxNumber     = 64      // bytes of a number
)

// scanner walks one JSON document in order, strictly, and keeps nothing of it but the names of the objects that are
// open. An own scanner, because a tokenizer that returns tokens costs several times as much on a body whose bulk is
// one base64 string, and because the duplicate check has to see through escapes. A fuzz target holds it to jsontext.
type scanner struct {
	src   []byte
	pos   int
	depth int
	names names
	named int // members of the document so far
	raw   beyond
}

// beyond counts the characters beyond ASCII that stand in the strings of the document as they are, not as escapes.
type beyond struct{ wide, bytes int }

func (s *scanner) fail(at int, fault BodyFault) error {
	at = min(at, len(s.src))
	return &BodyError{Offset: at, Fault: fault, Input: echo(s.src[at:])}
}

// peek skips white space and returns the byte that decides what comes next, 0 at the end of the input. A NUL byte in
// the input looks the same and is as wrong.
func (s *scanner) peek() byte {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// take consumes the byte c, which must come next.
func (s *scanner) take(c byte) error {
	if s.peek() != c {
		return s.fail(s.pos, FaultSyntax)
	}
	s.pos++
	return nil
}

// word consumes one of the literals true, false and null.
func (s *scanner) word(w string) error {
	if len(s.src)-s.pos < len(w) || string(s.src[s.pos:s.pos+len(w)]) != w {
		return s.fail(s.pos, FaultSyntax)
	}
	s.pos += len(w)
	return nil
}

// enter opens an array or an object.
func (s *scanner) enter() error {
	if s.depth++; s.depth > maxNesting {
		return s.fail(s.pos, FaultDepth)
	}
	s.pos++
	return nil
}

// more reports whether another element or member follows, and consumes what stands before it or the closing byte.
func (s *scanner) more(first bool, closing byte) (bool, error) {
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
