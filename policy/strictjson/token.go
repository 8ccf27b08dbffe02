package strictjson

import (
	"bytes"
	"unicode/utf8"
)

// lexer reads scalar values of a document. It is the part of a [Reader] that does not know objects and arrays.
type lexer struct {
	src      []byte
	pos      int
	wide     struct{ points, bytes int } // the characters beyond ASCII that are unescaped in the document
	checks   *checks                     // nil: the document has no limits, and names are not compared
	fault    Fault                       // the first; empty: none
	at       int                         // its offset
	due      bool                        // the value of a member or an element was not taken
	escaped  bool                        // the last string has escapes
	verified bool                        // the text was checked before: strings are not checked again
}

// At is the offset up to which the text was read.
func (r *lexer) At() int { return r.pos }

// Rest returns the unread text, beginning with the next value.
func (r *lexer) Rest() []byte {
	r.Kind()
	return r.src[r.pos:]
}

// Since returns the text that was read since an offset; nil after a fault.
func (r *lexer) Since(from int) []byte {
	if r.fault != "" {
		return nil
	}
	return r.src[from:r.pos:r.pos]
}

// Kind is the byte with which the next value begins, which determines its type; 0: no value. A NUL byte in the input
// looks the same, and is as invalid.
func (r *lexer) Kind() byte {
	for ; r.pos < len(r.src); r.pos++ {
		if c := r.src[r.pos]; c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
	}
	return 0
}

// Shape is the JSON type of a value, with true and false apart. The zero value means an absent member.
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
func (r *lexer) Shape() Shape {
	switch r.Kind() {
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

// Number steps over a number as RFC 8259 writes it and returns its literal.
func (r *lexer) Number() []byte {
	r.due = false
	start, end := r.pos, r.pos
	for end < len(r.src) && end-start < maxNumber && r.src[end]-'0' <= 9 {
		end++
	}
	if c := byteAt(r.src, end); end > start && r.src[start] != '0' && c != '.' && c|0x20 != 'e' && c-'0' > 9 { // an integer, as most are
		r.pos = end
		return r.src[start:end]
	}
	if byteAt(r.src, start) == '-' {
		r.pos++
	}
	if byteAt(r.src, r.pos) == '0' {
		r.pos++
	} else {
		r.digits(start)
	}
	if byteAt(r.src, r.pos) == '.' {
		r.pos++
		r.digits(start)
	}
	if byteAt(r.src, r.pos)|0x20 == 'e' {
		r.pos++
		if c := byteAt(r.src, r.pos); c == '+' || c == '-' {
			r.pos++
		}
		r.digits(start)
	}
	if r.pos-start > maxNumber && r.checks != nil {
		r.fail(start, FaultLongNumber)
	}
	return r.Since(start)
}

// digits steps over one digit or more of the number that began at start. It stops as soon as the number is too long, so
// that ten megabytes of digits cost nothing.
func (r *lexer) digits(start int) {
	from := r.pos
	for c := byteAt(r.src, r.pos); c >= '0' && c <= '9'; c = byteAt(r.src, r.pos) {
		if r.pos++; r.pos-start > maxNumber && r.checks != nil {
			r.fail(start, FaultLongNumber)
			return
		}
	}
	if r.pos == from {
		r.fail(r.pos, FaultSyntax)
	}
}

// Same steps over exactly these bytes; any others are a fault.
func (r *lexer) Same(as []byte) {
	if !bytes.HasPrefix(r.src[r.pos:], as) {
		r.fail(r.pos, FaultSyntax)
		return
	}
	r.pos += len(as)
}

// word steps over one of the literals true, false and null.
func (r *lexer) word(w string) {
	if len(r.src)-r.pos < len(w) || string(r.src[r.pos:r.pos+len(w)]) != w {
		r.fail(r.pos, FaultSyntax)
		return
	}
	r.pos += len(w)
}

// byteAt is the byte at i, 0 past the end.
func byteAt(src []byte, i int) byte {
	if i < len(src) {
		return src[i]
	}
	return 0
}

// Count is a number of characters.
type Count struct {
	ASCII int // ASCII characters
	Wide  int // other code points
}

// Points is the number of all code points.
func (c Count) Points() int { return c.ASCII + c.Wide }

// Add adds d to the count.
func (c *Count) Add(d Count) { c.ASCII, c.Wide = c.ASCII+d.ASCII, c.Wide+d.Wide }

// Source counts the characters of the input up to here as they are written: an escape counts each of its characters.
func (r *lexer) Source() Count { return Count{ASCII: r.pos - r.wide.bytes, Wide: r.wide.points} }

// Text is a string of the document.
type Text struct {
	Raw     []byte // between the quotes, as written; nil: not a string
	Count          // of the decoded string
	Escaped bool   // at least one escape
	NUL     bool   // holds U+0000
}

// Text steps over a string, which must come next, and proves it to be valid UTF-8 without lone surrogates.
func (r *lexer) Text() Text { return r.TextAfter(0) }

// TextAfter is Text for a caller who knows that the first n bytes after the opening quote are ASCII without quotes,
// backslashes and control characters. They are not looked at again.
func (r *lexer) TextAfter(n int) Text {
	r.due = false
	if r.Kind() != '"' {
		r.fail(r.pos, FaultSyntax)
		return Text{}
	}
	start := r.pos + 1
	i := plain(r.src, start+n)
	if i < len(r.src) && r.src[i] == '"' {
		r.pos, r.escaped = i+1, false
		return Text{Raw: r.src[start:i:i], Count: Count{ASCII: i - start}}
	}
	return r.restOfText(start, i)
}

// String steps over a string and returns the text between its quotes, as written; nil: not a string.
func (r *lexer) String() []byte {
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

// toQuote is String for a text that was checked: the end is the next quote without a backslash, or after an even number of them.
func (r *lexer) toQuote() []byte {
	from := r.pos + 1
	r.escaped = false
	for i := from; ; i++ {
		i += bytes.IndexByte(r.src[i:], '"')
		escapes := 0
		for r.src[i-1-escapes] == '\\' {
			escapes++
		}
		r.escaped = r.escaped || escapes > 0
		if escapes%2 == 0 {
			r.pos = i + 1
			break
		}
	}
	text := r.src[from : r.pos-1 : r.pos-1]
	r.escaped = r.escaped || bytes.IndexByte(text[:min(len(text), mostEscape*maxName)], '\\') >= 0
	return text
}

// Identifier is Text for a model, an id or a name, and refuses U+0000, which ends a string for some parsers only.
func (r *lexer) Identifier() Text {
	r.Kind()
	start := r.pos
	t := r.Text()
	if t.NUL {
		r.fail(start, FaultNUL)
	}
	return t
}

// restOfText reads a string from i on, the first byte that is not plain.
func (r *lexer) restOfText(start, i int) (t Text) {
	coded := 0 // bytes of escapes and of characters beyond ASCII
	for ; ; i = plain(r.src, i) {
		switch c := byteAt(r.src, i); {
		case c == '"':
			t.ASCII += i - start - coded
			t.Raw = r.src[start:i:i]
			r.pos, r.escaped = i+1, t.Escaped
			return t
		case c == '\\':
			char, size, fault := escape(r.src[i:])
			if fault != "" {
				r.fail(i, fault)
				return Text{}
			}
			t.Escaped, t.NUL = true, t.NUL || char == 0
			if char < utf8.RuneSelf {
				t.ASCII++
			} else {
				t.Wide++
			}
			coded += size
			i += size
		case c < ' ': // a control character, or the input is at its end
			r.fail(i, FaultSyntax)
			return Text{}
		default:
			char, size := utf8.DecodeRune(r.src[i:])
			if char == utf8.RuneError && size == 1 {
				r.fail(i, FaultUTF8)
				return Text{}
			}
			t.Wide++
			r.wide.points++
			r.wide.bytes += size
			coded += size
			i += size
		}
	}
}
