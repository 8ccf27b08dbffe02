package openai

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// string steps over a string and returns what is between its quotes, as it is written; nil: it is none.
func (r *reader) string() []byte {
	r.escaped = false
	if r.peek() != '"' {
		r.fail()
		return nil
	}
	text, from := r.text, r.at+1
	for i := from + plain(text[from:]); i < len(text); i += plain(text[i:]) {
		if text[i] == '"' {
			r.at = i + 1
			return text[from:i:i]
		}
		r.escaped = r.escaped || text[i] == '\\'
		size := special(text[i:])
		if size == 0 {
			break
		}
		i += size
	}
	r.fail()
	return nil
}

// plain is how many bytes at the start of p are ASCII characters that stand for themselves in a string. It looks at eight at a time:
// names and most texts are read in one or two steps.
func plain(p []byte) (n int) {
	const each, top = 0x0101010101010101, 0x8080808080808080
	for ; len(p)-n >= 8; n += 8 {
		eight := binary.LittleEndian.Uint64(p[n:])
		quotes, backslashes := eight^('"'*each), eight^('\\'*each)
		// The top bit of the first byte that is not plain is set: by itself, or because the subtraction goes below zero.
		if found := (eight | (eight - ' '*each) | (quotes - each) | (backslashes - each)) & top; found != 0 {
			return n + bits.TrailingZeros64(found)/8
		}
	}
	for n < len(p) && p[n] >= ' ' && p[n] < utf8.RuneSelf && p[n] != '"' && p[n] != '\\' {
		n++
	}
	return n
}

// special is how long an escape sequence at the start of p is, or other characters than ASCII; 0: there is a fault.
func special(p []byte) (n int) {
	if p[0] == '\\' {
		return escapeSize(p)
	}
	for n < len(p) && p[n] >= utf8.RuneSelf {
		_, size := utf8.DecodeRune(p[n:])
		if size == 1 {
			return 0
		}
		n += size
	}
	return n
}

// escapeSize is how long the escape sequence at the start of p is; 0: it is none. Halves of a surrogate pair must be together.
func escapeSize(p []byte) int {
	if len(p) < 2 {
		return 0
	}
	switch p[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
	default:
		return 0
	}
	switch unit := escapedUnit(p); {
	case unit < 0, unit >= 0xdc00 && unit < 0xe000:
		return 0
	case unit < 0xd800 || unit >= 0xe000:
		return 6
	}
	if low := escapedUnit(p[6:]); low < 0xdc00 || low >= 0xe000 {
		return 0
	}
	return 12
}

// escapedUnit is the code unit of the sequence \uXXXX at the start of p; -1: it is none.
func escapedUnit(p []byte) (unit int) {
	if len(p) < 6 || p[0] != '\\' || p[1] != 'u' {
		return -1
	}
	for _, c := range p[2:6] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20-'a' <= 5:
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		unit = unit<<4 | int(c)
	}
	return unit
}
