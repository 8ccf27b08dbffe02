package openai

import "bytes"

// A reader reads a JSON document once, from its beginning to its end, and checks it on the way. Each method takes the next value:
// the document, or the value of a member or an element that was just found. After a fault it finds nothing more.
//
// It accepts what [jsontext.Value.IsValid] accepts with the options strictly. Answers are read with it; a [walker] goes over JSON
// that was checked before, and steps over a value at each level again.
type reader struct {
	text    []byte
	at      int
	name    []byte // of the member, escapes resolved
	depth   int
	first   bool // the object or array was just opened
	none    bool // it is of another kind, and has been stepped over
	escaped bool // the last string has escapes
	broken  bool
}

// mostDepth is how deep a document may be.
const mostDepth = 10000

func (r *reader) fail() { r.broken, r.at = true, len(r.text) }

// end reports whether nothing follows the document, and no fault was found.
func (r *reader) end() bool {
	r.peek()
	return !r.broken && r.at == len(r.text)
}

// peek steps over white space and returns the next byte; 0: there is none.
func (r *reader) peek() byte {
	for ; r.at < len(r.text); r.at++ {
		if c := r.text[r.at]; c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
	}
	return 0
}

// open enters an object or an array, as the byte says that begins it. A value of another kind has nothing inside.
func (r *reader) open(kind byte) {
	if r.peek() != kind {
		r.skip()
		r.none = true
		return
	}
	r.at++
	r.first = true
	if r.depth++; r.depth > mostDepth {
		r.fail()
	}
}

// member steps to the next member of an object and reports whether there is one.
func (r *reader) member() bool {
	if !r.next('}') {
		return false
	}
	if r.name = r.string(); r.escaped && !r.broken && len(r.name) <= mostEscape*mostWord { // a longer one is no name that is known
		r.name = decoded(r.text[r.at-len(r.name)-2 : r.at]) // with its quotes
	}
	if r.peek() != ':' {
		r.fail()
		return false
	}
	r.at++
	return true
}

// element steps to the next element of an array and reports whether there is one.
func (r *reader) element() bool { return r.next(']') }

// next steps over a comma, or out of the object or array.
func (r *reader) next(end byte) bool {
	if r.none {
		r.none = false
		return false
	}
	c, first := r.peek(), r.first
	r.first = false
	switch {
	case c == end:
		r.at++
		r.depth--
		return false
	case first && c != 0:
		return true
	case c == ',':
		r.at++
		return true
	}
	r.fail()
	return false
}

// value steps over a value and returns it as it is written.
func (r *reader) value() []byte {
	r.peek()
	from := r.at
	if r.skip(); r.broken {
		return nil
	}
	return r.text[from:r.at:r.at]
}

// skip steps over a value.
func (r *reader) skip() {
	switch c := r.peek(); c {
	case '"':
		r.string()
	case '{':
		for r.open(c); r.member(); {
			r.skip()
		}
	case '[':
		for r.open(c); r.element(); {
			r.skip()
		}
	case 't':
		r.word("true")
	case 'f':
		r.word("false")
	case 'n':
		r.word("null")
	default:
		r.number()
	}
}

func (r *reader) word(word string) {
	if rest := r.text[r.at:]; len(rest) < len(word) || string(rest[:len(word)]) != word {
		r.fail()
		return
	}
	r.at += len(word)
}

// same steps over these bytes; others are a fault.
func (r *reader) same(as []byte) {
	if !bytes.HasPrefix(r.text[r.at:], as) {
		r.fail()
		return
	}
	r.at += len(as)
}

// number steps over a number. What follows it is for the caller to judge.
func (r *reader) number() {
	r.take('-', '-')
	if !r.take('0', '0') && r.digits() == 0 || r.take('.', '.') && r.digits() == 0 {
		r.fail()
		return
	}
	if r.take('e', 'E') {
		if !r.take('+', '+') {
			r.take('-', '-')
		}
		if r.digits() == 0 {
			r.fail()
		}
	}
}

// take steps over the next byte if it is one of these.
func (r *reader) take(one, other byte) bool {
	if r.at == len(r.text) || r.text[r.at] != one && r.text[r.at] != other {
		return false
	}
	r.at++
	return true
}

func (r *reader) digits() (n int) {
	for r.at < len(r.text) && r.text[r.at]-'0' <= 9 {
		r.at++
		n++
	}
	return n
}
