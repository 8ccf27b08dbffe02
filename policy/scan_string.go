package policy

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// text is a string of the document: where it stands, and what the pass learned on the way. Lengths are those of the
// decoded string.
type text struct {
	start, end int  // the bytes between the quotes, escapes unresolved
	escaped    bool // at least one escape
	nul        bool // holds U+0000
	ascii      int  // ASCII characters
	wide       int  // other code points
}

// points is the length of the string in code points.
func (t text) points() int { return t.ascii + t.wide }

// string consumes a string, whose opening quote comes next, and proves it to be valid UTF-8 without lone surrogates.
func (s *scanner) string() (text, error) { return s.stringFrom(s.pos + 1) }

// stringFrom is string where all bytes up to from are known to be plain.
func (s *scanner) stringFrom(from int) (text, error) {
	t := text{start: s.pos + 1}
	i := plain(s.src, from)
	if i < len(s.src) && s.src[i] == '"' {
		t.end, t.ascii = i, i-t.start
		s.pos = i + 1
		return t, nil
	}
	return s.stringRest(t, i)
}

// stringRest is string from the first byte at i on that is not plain.
func (s *scanner) stringRest(t text, i int) (text, error) {
	coded := 0 // bytes of escapes and of characters beyond ASCII
	for ; ; i = plain(s.src, i) {
		switch c := s.at(i); {
		case c == '"':
			t.end = i
			t.ascii += i - t.start - coded
			s.pos = i + 1
			return t, nil
		case c == '\\':
			r, size, fault := escape(s.src[i:])
			if fault != "" {
				return t, s.fail(i, fault)
			}
			t.escaped = true
			t.nul = t.nul || r == 0
			if r < utf8.RuneSelf {
				t.ascii++
			} else {
				t.wide++
			}
			coded += size
			i += size
		case c < ' ': // a control character, or the input is at its end
			return t, s.fail(i, FaultSyntax)
		default:
			r, size := utf8.DecodeRune(s.src[i:])
			if r == utf8.RuneError && size == 1 {
				return t, s.fail(i, FaultUTF8)
			}
			t.wide++
			s.raw.wide++
			s.raw.bytes += size
			coded += size
			i += size
		}
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plain returns the index of the first byte at or after i that a string does not simply hold: a quote, a backslash, a
// control character, a byte beyond ASCII, or the end. It looks at eight bytes at a time, for most of a large body is
// one base64 string. A subtraction that borrows marks bytes above a true hit, never below one, so the lowest mark is
// right.
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
