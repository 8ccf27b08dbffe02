// Package strictjson reads one JSON document in order, for a gateway that forwards the very bytes it judged. It does not decode into
// Go values: the caller walks the document by loops and keeps what it needs.
//
// A [Reader] takes what RFC 8259 allows, in UTF-8 and without lone surrogates: an answer that is paid for must not fail. After
// [Reader.Reset] it is strict: it also refuses what two parsers could take for two different documents: duplicate member names, known
// names in another case, U+0000 in names, and documents of extreme depth, width or length of names and numbers.
//
// The package knows nothing of requests and answers, so that policy, telemetry and gateway may all import it.
//
// A tokenizer that returns tokens costs several times as much on a body whose bulk is one base64 string, and a check
// for duplicates has to see through escapes. A fuzz target of package policy holds this one to jsontext.
package strictjson

import "bytes"

// The limits of a strict document. They bound the cost of a hostile one; real clients stay far below.
const (
	maxNesting    = 64      // arrays and objects inside one another; the document itself is 1
	maxMembers    = 10_000  // members of one object
	maxAllMembers = 100_000 // members of all objects
	maxName       = 256     // bytes of a member name, escapes resolved
	maxNumber     = 64      // bytes of a number
	maxLoose      = 10_000  // nesting of any other document: the calls of Skip nest as deep
)

// A Reader reads one document from its beginning to its end, and checks it on the way:
//
//	for r.Open('{'); r.Member(); {
//		switch string(r.Name) {
//		case "model":
//			model = r.Value()
//		}
//	}
//
// Each method takes the next value: the document, or the value of a member or an element that was just found. A value that was not
// taken is stepped over. What a method returns is part of the text. After a fault the Reader finds nothing more.
type Reader struct {
	Name  []byte // of the member, escapes resolved, unless it is longer than any name that is known; a strict Reader has Field
	Field Field  // the member's, as [Reader.Object] knows it

	src      []byte
	pos      int
	depth    int
	wide     struct{ points, bytes int } // the characters beyond ASCII that stand in the document unescaped
	count    *Count                      // of the strings that Skip steps over
	checks   *checks
	fault    Fault // the first; empty: none
	at       int   // where it shows
	first    bool  // the object or array was just opened
	due      bool  // the value of a member or an element was not taken
	none     bool  // it is of another kind, and has been stepped over
	escaped  bool  // the last string has escapes
	verified bool  // the text is a document: strings need no second look
}

// NewReader makes a Reader of a text.
func NewReader(text []byte) Reader { return Reader{src: text} }

// NewCheckedReader makes a Reader of a text that another Reader took. It searches for the ends of strings only, because a string may be
// an image of many megabytes.
func NewCheckedReader(text []byte) Reader { return Reader{src: text, verified: true} }

// Reset makes the Reader a strict one of another text. Room for names is kept.
func (r *Reader) Reset(src []byte) {
	c := r.checks
	if c == nil || cap(c.open.refs) > maxKept || cap(c.open.text) > maxKept*16 {
		c = new(checks)
	}
	c.members, c.objects = 0, c.objects[:0]
	c.open.refs, c.open.text, c.open.slots = c.open.refs[:0], c.open.text[:0], c.open.slots[:0]
	*r = Reader{src: src, checks: c}
}

// Broken reports whether a fault was found.
func (r *Reader) Broken() bool { return r.fault != "" }

// At is the offset of what was not read.
func (r *Reader) At() int { return r.pos }

// Rest returns what was not read, beginning with the next value.
func (r *Reader) Rest() []byte {
	r.Kind()
	return r.src[r.pos:]
}

// End reports whether nothing follows the document, and no fault was found.
func (r *Reader) End() bool {
	if r.Kind(); r.pos != len(r.src) {
		r.fail(r.pos, FaultTrailing)
	}
	return r.fault == ""
}

// Kind is the byte that the next value begins with, which says its type; 0: there is none. A NUL byte in the input looks the same
// and is as wrong.
func (r *Reader) Kind() byte {
	for ; r.pos < len(r.src); r.pos++ {
		if c := r.src[r.pos]; c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
	}
	return 0
}

// Document enters the object that the whole text must be.
func (r *Reader) Document(known *Names) {
	if r.Kind() != '{' {
		r.fail(r.pos, FaultNotObject)
	}
	r.Object(known)
}

// Object is Open of an object in a strict document. Its members whose names are not known, or have the field [Ignored], are stepped over.
func (r *Reader) Object(known *Names) {
	if r.Open('{'); !r.none && r.fault == "" {
		r.checks.objects[len(r.checks.objects)-1].known = known
	}
}

// Open enters an object or an array, as the byte says that begins it. A value of another kind has nothing inside.
func (r *Reader) Open(kind byte) {
	if r.Kind() != kind {
		r.Skip()
		r.none = true
		return
	}
	r.first, r.due = true, false
	if r.depth++; r.depth > maxNesting && (r.checks != nil || r.depth > maxLoose) {
		r.fail(r.pos, FaultDepth)
		return
	}
	r.pos++
	if kind == '{' && r.checks != nil {
		r.checks.begin()
	}
}

// Member steps to the next member of an object and reports whether there is one.
func (r *Reader) Member() bool {
	for r.next('}') {
		if r.name(); r.fault != "" {
			return false
		}
		if r.due = true; r.checks == nil {
			if r.escaped && len(r.Name) <= mostEscape*maxName {
				r.Name = Unescape(nil, r.Name, len(r.Name))
			}
			return true
		}
		if r.Field != Unknown && r.Field != Ignored {
			return true
		}
	}
	return false
}

// mostEscape is how many bytes of JSON a byte of text takes at most.
const mostEscape = 6

// name steps over a member's name and the colon.
func (r *Reader) name() {
	if r.checks == nil {
		r.Name = r.String()
	} else {
		r.strictName()
	}
	if r.Kind() != ':' {
		r.fail(r.pos, FaultSyntax)
		return
	}
	r.pos++
}

// Element steps to the next element of an array and reports whether there is one.
func (r *Reader) Element() bool {
	r.due = r.next(']')
	return r.due
}

// next steps over a comma, or out of the object or array.
func (r *Reader) next(closing byte) bool {
	if r.due {
		r.Skip()
	}
	if r.none || r.fault != "" {
		r.none = false
		return false
	}
	c, first := r.Kind(), r.first
	r.first = false
	switch {
	case c == closing:
		r.pos++
		r.depth--
		if c == '}' && r.checks != nil {
			r.checks.end()
		}
		return false
	case first && c != 0:
		return true
	case c == ',':
		r.pos++
		return true
	}
	r.fail(r.pos, FaultSyntax)
	return false
}

// Value steps over a value and returns it as it is written; nil: there is none.
func (r *Reader) Value() []byte {
	r.Kind()
	from := r.pos
	r.Skip()
	return r.Since(from)
}

// Since is what was read since an offset; nil after a fault.
func (r *Reader) Since(from int) []byte {
	if r.fault != "" {
		return nil
	}
	return r.src[from:r.pos:r.pos]
}

// Skip steps over a value, which is checked like any other.
func (r *Reader) Skip() {
	r.due = false
	switch c := r.Kind(); c {
	case '"':
		if r.count == nil {
			r.String()
		} else {
			r.count.Add(r.Text().Count)
		}
	case '{':
		for r.Open(c); r.next('}'); r.Skip() {
			r.name()
		}
	case '[':
		for r.Open(c); r.next(']'); {
			r.Skip()
		}
	case 't':
		r.word("true")
	case 'f':
		r.word("false")
	case 'n':
		r.word("null")
	default:
		r.Number()
	}
}

// SkipCounting is Skip, and adds the characters of all strings in the value to count. Member names do not count.
func (r *Reader) SkipCounting(count *Count) {
	r.count = count
	r.Skip()
	r.count = nil
}

// String steps over a string and returns what is between its quotes, as it is written; nil: it is none.
func (r *Reader) String() []byte {
	if r.due = false; r.Kind() != '"' {
		r.fail(r.pos, FaultSyntax)
		return nil
	}
	if r.verified {
		return r.toQuote()
	}
	from := r.pos + 1
	end := plain(r.src, from)
	if end < len(r.src) && r.src[end] == '"' { // as most are
		r.pos, r.escaped = end+1, false
		return r.src[from:end:end]
	}
	return r.restOfText(from, end).Raw
}

// Same steps over these bytes; others are a fault.
func (r *Reader) Same(as []byte) {
	if !bytes.HasPrefix(r.src[r.pos:], as) {
		r.fail(r.pos, FaultSyntax)
		return
	}
	r.pos += len(as)
}
