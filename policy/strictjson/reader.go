package strictjson

import "bytes"

// A Reader reads one document by loops, from its beginning to its end, and checks it on the way:
//
//	for r.Open('{'); r.Member(); {
//		switch string(r.Name) {
//		case "model":
//			model = r.Value()
//		}
//	}
//
// Each method takes the next value: the document, or the value of a member or an element that was just found. A value that was not
// taken is stepped over. What a method returns is part of the text.
//
// A Reader takes what RFC 8259 allows, in UTF-8 and without lone surrogates, at most 10,000 levels deep. After a fault it finds nothing
// more.
type Reader struct {
	Name []byte // of the member, escapes resolved, unless it is longer than any name that is known

	scan    lexer
	first   bool // the object or array was just opened
	due     bool // the value of a member or an element was not taken
	none    bool // it is of another kind, and has been stepped over
	escaped bool // the last string has escapes
	broken  bool
	checked bool // the text is a document: strings need no second look
	fault   int
}

// NewReader makes a Reader of a text.
func NewReader(text []byte) Reader { return Reader{scan: lexer{src: text, loose: true}} }

// NewCheckedReader makes a Reader of a text that another Reader took. It searches for the ends of strings only, because a string may be
// an image of many megabytes.
func NewCheckedReader(text []byte) Reader {
	return Reader{scan: lexer{src: text, loose: true}, checked: true}
}

// fail notes a fault where the scanner is.
func (r *Reader) fail() {
	if !r.broken {
		r.broken, r.fault = true, r.scan.pos
	}
	r.scan.pos = len(r.scan.src)
}

// Broken reports whether a fault was found.
func (r *Reader) Broken() bool { return r.broken }

// Fault is the offset of the fault that was found, or of what follows the document.
func (r *Reader) Fault() int {
	if r.broken {
		return r.fault
	}
	return r.scan.pos
}

// At is the offset of what was not read.
func (r *Reader) At() int { return r.scan.pos }

// End reports whether nothing follows the document, and no fault was found.
func (r *Reader) End() bool {
	r.Kind()
	return !r.broken && r.scan.pos == len(r.scan.src)
}

// Kind is the byte that the next value begins with, which says its type; 0: there is none.
func (r *Reader) Kind() byte { return r.scan.peek() }

// Open enters an object or an array, as the byte says that begins it. A value of another kind has nothing inside.
func (r *Reader) Open(kind byte) {
	if r.scan.peek() != kind {
		r.Skip()
		r.none = true
		return
	}
	if r.first, r.due = true, false; r.scan.enter() != nil {
		r.fail()
	}
}

// Member steps to the next member of an object and reports whether there is one.
func (r *Reader) Member() bool {
	if !r.next('}') {
		return false
	}
	if r.Name = r.String(); r.escaped && len(r.Name) <= mostEscape*maxName {
		r.Name = Unescape(nil, r.Name, len(r.Name))
	}
	if r.scan.peek() != ':' {
		r.fail()
		return false
	}
	r.scan.pos++
	r.due = true
	return true
}

// mostEscape is how many bytes of JSON a byte of text takes at most.
const mostEscape = 6

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
	if r.none || r.broken {
		r.none = false
		return false
	}
	c, first := r.scan.peek(), r.first
	r.first = false
	switch {
	case c == closing:
		r.scan.pos++
		r.scan.depth--
		return false
	case first && c != 0:
		return true
	case c == ',':
		r.scan.pos++
		return true
	}
	r.fail()
	return false
}

// Value steps over a value and returns it as it is written; nil: there is none.
func (r *Reader) Value() []byte {
	r.scan.peek()
	from := r.scan.pos
	r.Skip()
	return r.Since(from)
}

// Since is what was read since an offset; nil after a fault.
func (r *Reader) Since(from int) []byte {
	if r.broken {
		return nil
	}
	return r.scan.src[from:r.scan.pos:r.scan.pos]
}

// Skip steps over a value.
func (r *Reader) Skip() {
	r.due = false
	var err error
	switch c := r.scan.peek(); c {
	case '"':
		r.String()
	case '{':
		for r.Open(c); r.next('}'); {
			if r.String(); r.scan.peek() != ':' {
				r.fail()
				return
			}
			r.scan.pos++
			r.Skip()
		}
	case '[':
		for r.Open(c); r.next(']'); {
			r.Skip()
		}
	case 't':
		err = r.scan.word("true")
	case 'f':
		err = r.scan.word("false")
	case 'n':
		err = r.scan.word("null")
	default:
		_, err = r.scan.Number()
	}
	if err != nil {
		r.fail()
	}
}

// String steps over a string and returns what is between its quotes, as it is written; nil: it is none.
func (r *Reader) String() []byte {
	if r.due = false; r.scan.peek() != '"' {
		r.fail()
		return nil
	}
	if r.checked {
		return r.toQuote()
	}
	src, from := r.scan.src, r.scan.pos+1
	end := plain(src, from)
	if end < len(src) && src[end] == '"' { // as most are
		r.scan.pos, r.escaped = end+1, false
		return src[from:end:end]
	}
	t, err := r.scan.stringRest(Text{start: from}, end)
	if err != nil {
		r.fail()
		return nil
	}
	r.escaped = t.Escaped
	return src[from:t.end:t.end]
}

// toQuote is String for a text that was checked: the end is the next quote without a backslash, or behind an even number of them.
func (r *Reader) toQuote() []byte {
	from := r.scan.pos + 1
	r.escaped = false
	for i := from; ; i++ {
		i += bytes.IndexByte(r.scan.src[i:], '"')
		escapes := 0
		for r.scan.src[i-1-escapes] == '\\' {
			escapes++
		}
		r.escaped = r.escaped || escapes > 0
		if escapes%2 == 0 {
			r.scan.pos = i + 1
			break
		}
	}
	text := r.scan.src[from : r.scan.pos-1 : r.scan.pos-1]
	r.escaped = r.escaped || bytes.IndexByte(text[:min(len(text), mostEscape*maxName)], '\\') >= 0
	return text
}

// Same steps over these bytes; others are a fault.
func (r *Reader) Same(as []byte) {
	if !bytes.HasPrefix(r.scan.src[r.scan.pos:], as) {
		r.fail()
		return
	}
	r.scan.pos += len(as)
}
