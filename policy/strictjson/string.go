package strictjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

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
		r = SimpleEscape(src[1])
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

// SimpleEscape is the character of the escape of a backslash and c; -1: no such escape.
func SimpleEscape(c byte) rune {
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
		digit := HexDigit(c)
		if digit < 0 {
			return -1
		}
		n = n<<4 | digit
	}
	return n
}

// HexDigit is the value of a hexadecimal digit; -1 for other characters.
func HexDigit(c byte) rune {
	switch {
	case c-'0' <= 9:
		return rune(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c | 0x20 - 'a' + 10)
	}
	return -1
}

// Size counts the bytes and the characters of the string that raw spells. raw MUST be a Text's.
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
// cut off there. raw MUST be a Text's.
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

// Cursor walks the characters of a string of the document without decoding it as a whole. A copy walks independently.
type Cursor struct {
	raw     []byte
	pos     int
	escaped bool
}

// NewCursor puts a cursor before the first character of a string, by the members of its [Text].
func NewCursor(raw []byte, escaped bool) Cursor { return Cursor{raw: raw, escaped: escaped} }

// NotASCII stands for every character beyond ASCII in the results of Next.
const NotASCII = 0xFF

// Next consumes one character; ok is false at the end.
func (c *Cursor) Next() (b byte, ok bool) {
	if c.pos >= len(c.raw) {
		return 0, false
	}
	b = c.raw[c.pos]
	if b != '\\' || !c.escaped {
		c.pos++
		return b, true
	}
	r, size, _ := escape(c.raw[c.pos:])
	c.pos += size
	if r >= utf8.RuneSelf {
		return NotASCII, true
	}
	return byte(r), true
}

// Skip passes over n ASCII characters.
func (c *Cursor) Skip(n int) {
	for c.escaped && n > 0 && c.pos < len(c.raw) {
		run := bytes.IndexByte(c.raw[c.pos:min(c.pos+n, len(c.raw))], '\\')
		if run < 0 {
			break
		}
		c.pos += run
		c.Next()
		n -= run + 1
	}
	c.pos = min(c.pos+n, len(c.raw))
}

// Rest returns the unread input, escapes unresolved.
func (c *Cursor) Rest() []byte { return c.raw[c.pos:] }

// Offset is the cursor's position in raw.
func (c *Cursor) Offset() int { return c.pos }

// Seek puts the cursor at an offset of raw, which MUST NOT be inside an escape.
func (c *Cursor) Seek(offset int) { c.pos = offset }
