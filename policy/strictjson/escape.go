package strictjson

import (
	"unicode/utf16"
	"unicode/utf8"
)

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
func hex4(src []byte) rune {
	if len(src) < 4 {
		return -1
	}
	var n rune
	for _, c := range src[:4] {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			n = n<<4 | rune(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return n
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
