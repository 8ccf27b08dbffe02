// Package strictjson reads one JSON document in order, for a gateway that forwards the very bytes it judged. It does not decode into
// Go values: the caller walks the document by loops and keeps what it needs.
//
// A [Reader] accepts what RFC 8259 allows, in UTF-8 and without lone surrogates: an answer that is paid for must not fail. After
// [Reader.Reset] it is strict: it also refuses what two parsers could take for two different documents: duplicate member names,
// known names in another case, U+0000 in names, and documents of extreme depth, width or length of names and numbers.
//
// The package knows nothing of requests and answers, so that policy, telemetry and gateway may all import it.
//
// A tokenizer that returns tokens costs several times as much on a body whose bulk is one base64 string, and a check
// for duplicates has to see through escapes. A fuzz target of package policy holds this one to jsontext.
package strictjson

import (
	"bytes"
	"slices"
)

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
	Name  []byte // of the member, escapes resolved unless it is longer than any known name; a strict Reader sets Field instead
	Field Field  // the member's, by the names given to [Reader.Object]

	lexer
	depth int
	count *Count // of the strings that Skip steps over
	first bool   // the object or array was just opened
	none  bool   // the value was of another kind, and has been stepped over
}

// NewReader makes a Reader of a text.
func NewReader(text []byte) Reader { return Reader{lexer: lexer{src: text}} }

// NewCheckedReader makes a Reader of a text that another Reader accepted. It only searches for the ends of strings, because a
// string may be an image of many megabytes.
func NewCheckedReader(text []byte) Reader { return Reader{lexer: lexer{src: text, verified: true}} }

// Reset makes the Reader a strict reader of another text. It keeps the memory for names.
func (r *Reader) Reset(src []byte) {
	c := r.checks
	if c == nil || cap(c.open.refs) > maxKept || cap(c.open.text) > maxKept*16 {
		c = new(checks)
	}
	c.members, c.objects = 0, c.objects[:0]
	c.open.refs, c.open.text, c.open.slots = c.open.refs[:0], c.open.text[:0], c.open.slots[:0]
	*r = Reader{lexer: lexer{src: src, checks: c}}
}

// End reports whether nothing follows the document, and no fault was found.
func (r *Reader) End() bool {
	if r.Kind(); r.pos != len(r.src) {
		r.fail(r.pos, FaultTrailing)
	}
	return r.fault == ""
}

// Document enters the object that the whole text must be.
func (r *Reader) Document(known *Names) {
	if r.Kind() != '{' {
		r.fail(r.pos, FaultNotObject)
	}
	r.Object(known)
}

// Object is Open for an object in a strict document. It steps over members whose names are unknown or have the field
// [Ignored].
func (r *Reader) Object(known *Names) {
	if r.Open('{'); !r.none && r.fault == "" {
		r.checks.objects[len(r.checks.objects)-1].known = known
	}
}

// Open enters an object or an array, by the byte that begins it. A value of another kind counts as empty.
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

// mostEscape is the most bytes of JSON for one byte of text.
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

// Value steps over a value and returns it as written; nil: no value.
func (r *Reader) Value() []byte {
	r.Kind()
	from := r.pos
	r.Skip()
	return r.Since(from)
}

// Skip steps over a value, which is checked like any other.
func (r *Reader) Skip() {
	r.due = false
	switch c := r.Kind(); c {
	case '"':
		if r.count == nil {
			r.String()
		} else if t := r.Text(); !isData(t) {
			r.count.Add(t.Count)
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

// SkipCounting is Skip, and adds the characters of all strings in the value to count, except data: URIs of base64 and
// long runs of base64. Member names do not count.
func (r *Reader) SkipCounting(count *Count) {
	r.count = count
	r.Skip()
	r.count = nil
}

const (
	longRun  = 1024 // a run of base64 of this many characters is not text
	mostHead = 128  // bytes of a data: URI before its data
)

// isData reports whether a string is a data: URI or a long run of base64: a picture, not text. Words after the head of
// a URI make it text: a picture's data has only ASCII, and no space.
func isData(t Text) bool {
	raw := t.Raw
	if head := raw[:min(len(raw), mostHead)]; bytes.HasPrefix(head, []byte("data:")) && bytes.Contains(head, []byte(";base64,")) {
		return t.Count.Wide == 0 && bytes.IndexByte(raw, ' ') < 0
	}
	if len(raw) < longRun {
		return false
	}
	for _, c := range raw {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '+' && c != '/' && c != '=' && c != '-' && c != '_' && c != '\\' {
			return false
		}
	}
	return true
}

// Once reads the members of an object whose names must be unique, for documents that are not read strictly. It compares each name
// with all others, so their number is bounded, and the first need no memory beyond the stack.
type Once struct {
	Fault Fault // that ended the object: FaultDuplicate, FaultLongName, FaultMembers; empty: none

	few   [16][]byte
	more  [][]byte
	count int
}

// MostOnce is how many members the object may have, and MaxName how many bytes the name of one.
const (
	MostOnce = 64
	MaxName  = maxName
)

// Next steps to the next member that is not null; null counts as absent. It reports false at the end of the object, or of what is
// allowed in it.
func (o *Once) Next(r *Reader) bool {
	for r.Member() {
		if !o.Add(r.Name) {
			return false
		}
		if r.Kind() != 'n' {
			return true
		}
	}
	return false
}

// Add adds a name and reports whether it is allowed.
func (o *Once) Add(name []byte) bool {
	same := func(other []byte) bool { return bytes.Equal(other, name) }
	switch {
	case len(name) > maxName:
		o.Fault = FaultLongName
	case slices.ContainsFunc(o.few[:min(o.count, len(o.few))], same) || slices.ContainsFunc(o.more, same):
		o.Fault = FaultDuplicate
	case o.count == MostOnce:
		o.Fault = FaultMembers
	case o.count < len(o.few):
		o.few[o.count] = name
	default:
		o.more = append(o.more, name)
	}
	o.count++
	return o.Fault == ""
}
