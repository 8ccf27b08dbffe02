package strictjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

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
func (r *Reader) Shape() Shape {
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
func (r *Reader) Number() []byte {
	r.due = false
	start, end := r.pos, r.pos
	for end < len(r.src) && end-start < maxNumber && r.src[end]-'0' <= 9 {
		end++
	}
	if c := r.byteAt(end); end > start && r.src[start] != '0' && c != '.' && c|0x20 != 'e' && c-'0' > 9 { // an integer, as most are
		r.pos = end
		return r.src[start:end]
	}
	if r.byteAt(start) == '-' {
		r.pos++
	}
	if r.byteAt(r.pos) == '0' {
		r.pos++
	} else {
		r.digits(start)
	}
	if r.byteAt(r.pos) == '.' {
		r.pos++
		r.digits(start)
	}
	if r.byteAt(r.pos)|0x20 == 'e' {
		r.pos++
		if c := r.byteAt(r.pos); c == '+' || c == '-' {
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
func (r *Reader) digits(start int) {
	from := r.pos
	for c := r.byteAt(r.pos); c >= '0' && c <= '9'; c = r.byteAt(r.pos) {
		if r.pos++; r.pos-start > maxNumber && r.checks != nil {
			r.fail(start, FaultLongNumber)
			return
		}
	}
	if r.pos == from {
		r.fail(r.pos, FaultSyntax)
	}
}

// word steps over one of the literals true, false and null.
func (r *Reader) word(w string) {
	if len(r.src)-r.pos < len(w) || string(r.src[r.pos:r.pos+len(w)]) != w {
		r.fail(r.pos, FaultSyntax)
		return
	}
	r.pos += len(w)
}

// byteAt is the byte at i, 0 past the end.
func (r *Reader) byteAt(i int) byte {
	if i < len(r.src) {
		return r.src[i]
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
func (r *Reader) Source() Count { return Count{ASCII: r.pos - r.wide.bytes, Wide: r.wide.points} }

// Text is a string of the document.
type Text struct {
	Raw     []byte // between the quotes, as it is written; nil: none
	Count          // of the decoded string
	Escaped bool   // at least one escape
	NUL     bool   // holds U+0000
}

// Text steps over a string, which must come next, and proves it to be valid UTF-8 without lone surrogates.
func (r *Reader) Text() Text { return r.TextAfter(0) }

// TextAfter is Text for a caller who knows that the first n bytes after the opening quote are ASCII without quotes,
// backslashes and control characters. They are not looked at again.
func (r *Reader) TextAfter(n int) Text {
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

// toQuote is String for a text that was checked: the end is the next quote without a backslash, or behind an even number of them.
func (r *Reader) toQuote() []byte {
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
func (r *Reader) Identifier() Text {
	r.Kind()
	start := r.pos
	t := r.Text()
	if t.NUL {
		r.fail(start, FaultNUL)
	}
	return t
}

// restOfText reads a string from i on, the first byte that is not plain.
func (r *Reader) restOfText(start, i int) (t Text) {
	coded := 0 // bytes of escapes and of characters beyond ASCII
	for ; ; i = plain(r.src, i) {
		switch c := r.byteAt(i); {
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

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plain returns the index of the first byte at or after i that is a quote, a backslash, a control character or not
// ASCII, or the end. It looks at eight bytes at a time, because most of a large body is one base64 string. A subtraction
// that borrows sets high bits only above a true hit, so the lowest one is right.
func plain(src []byte, i int) int {
	for range 2 { // most strings are short
		if i+8 <= len(src) {
			if hit := special(binary.LittleEndian.Uint64(src[i:])) & highs; hit != 0 {
				return i + bits.TrailingZeros64(hit)/8
			}
			i += 8
		}
	}
	for ; i+32 <= len(src); i += 32 {
		b := src[i : i+32]
		hit := special(binary.LittleEndian.Uint64(b)) | special(binary.LittleEndian.Uint64(b[8:])) |
			special(binary.LittleEndian.Uint64(b[16:])) | special(binary.LittleEndian.Uint64(b[24:]))
		if hit&highs != 0 {
			break
		}
	}
	for ; i+8 <= len(src); i += 8 {
		if hit := special(binary.LittleEndian.Uint64(src[i:])) & highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for ; i < len(src); i++ {
		if c := src[i]; c == '"' || c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

// special sets the high bit of the bytes of w that are not plain.
func special(w uint64) uint64 {
	return ((w ^ ones*'"') - ones) | ((w ^ ones*'\\') - ones) | (w - ones*' ') | w
}
