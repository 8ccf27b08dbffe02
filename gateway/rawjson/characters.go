package rawjson

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"sluice/policy/strictjson"
)

// replaced is half of a character, as a raw text.
var replaced = []byte(`\ufffd`)

// Characters reads the next characters inside a string that arrives in pieces: their size, and their raw text, nil for the end of the
// string. size is 0 if more must be known. What JSON does not allow there becomes what was likely meant: what came before it may have
// been passed on. text MUST NOT be empty.
func Characters(text []byte) (size int, raw []byte) {
	special := func(c rune) bool { return c < ' ' || c == '"' || c == '\\' }
	switch c := text[0]; {
	case c == '"':
		return 1, nil
	case c < ' ':
		return 1, Inside(Quote(nil, text[:1]))
	case c != '\\':
		if size = bytes.IndexFunc(text, special); size < 0 {
			size = len(text)
		}
		return size, text[:size]
	case len(text) == 1:
		return 0, nil
	case text[1] == 'u':
		return units(text)
	case strictjson.SimpleEscape(text[1]) >= 0:
		return 2, text[:2]
	}
	return 1, []byte(`\\`)
}

// units does the same with an escape of one UTF-16 unit or two.
func units(text []byte) (size int, raw []byte) {
	first, size := unit(text)
	switch {
	case size == 0:
		return 0, nil
	case first < 0:
		return 1, []byte(`\\`)
	case !utf16.IsSurrogate(first):
		return size, text[:size]
	}
	second, more := unit(text[size:])
	switch {
	case more == 0:
		return 0, nil
	case utf16.DecodeRune(first, second) == utf8.RuneError:
		return size, replaced
	}
	return size + more, text[:size+more]
}

// unit reads an escape such as \u00e9. It is -1 if the text begins with another one or with none; size is 0 if more must be known.
func unit(text []byte) (r rune, size int) {
	const escape = `\u`
	if n := min(len(text), len(escape)); string(text[:n]) != escape[:n] {
		return -1, 1
	}
	const whole = len(escape) + 4
	digits := text[min(len(escape), len(text)):min(whole, len(text))]
	n, err := strconv.ParseUint("0"+string(digits), 16, 32)
	switch {
	case err != nil:
		return -1, 1
	case len(text) < whole:
		return 0, 0
	}
	return rune(n), whole
}
