package strictjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// Count is a number of characters.
type Count struct {
	ASCII int // ASCII characters
	Wide  int // other code points
}

// Points is the number of all code points.
func (c Count) Points() int { return c.ASCII + c.Wide }

// Add adds d to the count.
func (c *Count) Add(d Count) { c.ASCII, c.Wide = c.ASCII+d.ASCII, c.Wide+d.Wide }

// Text is a string of the document.
type Text struct {
	Count           // of the decoded string
	Escaped    bool // at least one escape
	NUL        bool // holds U+0000
	start, end int  // the bytes between the quotes, escapes unresolved
}

// String consumes a string, which must come next, and proves it to be valid UTF-8 without lone surrogates. With an error
// the Text is empty.
func (s *lexer) String() (Text, error) { return s.StringAfter(0) }

// StringAfter is String for a caller who knows that the first n bytes after the opening quote are ASCII without quotes,
// backslashes and control characters. They are not looked at again.
func (s *lexer) StringAfter(n int) (Text, error) {
	t := Text{start: s.pos + 1}
	i := plain(s.src, t.start+n)
	if i < len(s.src) && s.src[i] == '"' {
		t.end, t.ASCII = i, i-t.start
		s.pos = i + 1
		return t, nil
	}
	return s.stringRest(t, i)
}

// Identifier is String for a model, an id or a name, and refuses U+0000, which ends a string for some parsers only.
func (s *lexer) Identifier() (Text, error) {
	start := s.pos
	t, err := s.String()
	if err == nil && t.NUL {
		return Text{}, s.fail(start, FaultNUL)
	}
	return t, err
}

// stringRest reads the string t from i on, the first byte that is not plain.
func (s *lexer) stringRest(t Text, i int) (Text, error) {
	coded := 0 // bytes of escapes and of characters beyond ASCII
	for ; ; i = plain(s.src, i) {
		switch c := s.at(i); {
		case c == '"':
			t.end = i
			t.ASCII += i - t.start - coded
			s.pos = i + 1
			return t, nil
		case c == '\\':
			r, size, fault := escape(s.src[i:])
			if fault != "" {
				return Text{}, s.fail(i, fault)
			}
			t.Escaped = true
			t.NUL = t.NUL || r == 0
			if r < utf8.RuneSelf {
				t.ASCII++
			} else {
				t.Wide++
			}
			coded += size
			i += size
		case c < ' ': // a control character, or the input is at its end
			return Text{}, s.fail(i, FaultSyntax)
		default:
			r, size := utf8.DecodeRune(s.src[i:])
			if r == utf8.RuneError && size == 1 {
				return Text{}, s.fail(i, FaultUTF8)
			}
			t.Wide++
			s.wide.points++
			s.wide.bytes += size
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

// escape reads the escape at the start of src: the character that it stands for and the bytes that it takes. A pair of
// surrogates is one escape; half of one is refused, because parsers replace it by U+FFFD, raw halves or nothing.
func escape(src []byte) (r rune, size int, fault Fault) {
	if len(src) < 2 {
		return 0, 0, FaultSyntax
	}
	if src[1] != 'u' {
		r = simpleEscape(src[1])
		if r < 0 {
			return 0, 0, FaultSyntax
		}
		return r, 2, ""
	}
	if r = hex4(src[2:]); r < 0 {
		return 0, 0, FaultSyntax
	}
	if !utf16.IsSurrogate(r) {
		return r, 6, ""
	}
	if len(src) < 8 || src[6] != '\\' || src[7] != 'u' {
		return 0, 0, FaultSurrogate
	}
	low := hex4(src[8:])
	if low < 0 {
		return 0, 0, FaultSyntax
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, 0, FaultSurrogate
	}
	return r, 12, ""
}

// simpleEscape is the character that a backslash and c stand for, -1 if there is none.
func simpleEscape(c byte) rune {
	switch c {
	case '"', '\\', '/':
		return rune(c)
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return -1
}

// hex4 is the number that the first four bytes of src write in hexadecimal, -1 if they do not.
func hex4(src []byte) (n rune) {
	if len(src) < 4 {
		return -1
	}
	for _, c := range src[:4] {
		digit := hexDigit(c)
		if digit < 0 {
			return -1
		}
		n = n<<4 | digit
	}
	return n
}

// hexDigit is the value of a hexadecimal digit, -1 if c is none.
func hexDigit(c byte) rune {
	switch {
	case c-'0' <= 9:
		return rune(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c | 0x20 - 'a' + 10)
	}
	return -1
}

// Size counts the bytes and the characters of the string that raw spells. raw MUST be what [Scanner.Raw] returned.
func Size(raw []byte) (bytes, points int) {
	for i := 0; i < len(raw); points++ {
		r, size := utf8.DecodeRune(raw[i:])
		if r == '\\' {
			r, size, _ = escape(raw[i:])
		}
		i += size
		bytes += utf8.RuneLen(r)
	}
	return bytes, points
}

// Unescape appends to dst the string that raw spells, and stops once dst holds limit bytes or more; a character may be
// cut off there. raw MUST be what [Scanner.Raw] returned.
func Unescape(dst, raw []byte, limit int) []byte {
	for len(raw) > 0 && len(dst) < limit {
		if raw[0] != '\\' {
			dst = append(dst, raw[0])
			raw = raw[1:]
			continue
		}
		r, size, _ := escape(raw)
		dst = utf8.AppendRune(dst, r)
		raw = raw[size:]
	}
	return dst
}
