package otlp

import (
	"strings"
	"unicode/utf8"
)

// MaxValue is the length in bytes to which texts from clients and from the service are cut.
const MaxValue = 256

// Shorten cuts a text to at most limit bytes, at the end of a character. A cut text is a copy, so that the long one can be
// freed.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.Clone(s[:limit])
}

// Valid replaces what is not UTF-8: a collector refuses a whole batch for one invalid text.
func Valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
