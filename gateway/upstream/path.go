package upstream

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// StaysBelow reports whether the path after a forwarded prefix stays below it, however the service decodes it, whatever it strips
// from a segment: parameters (..;a=b), a query or a fragment (..?a), blanks and dots at its ends, and whatever it makes of
// characters outside ASCII.
func StaysBelow(rest string) bool {
	decoded := rest
	for range 3 { // %252e is a dot after two readings
		next, err := url.PathUnescape(decoded)
		if err != nil {
			return false
		}
		decoded = next
	}
	// invalid UTF-8 could spell a dot
	if strings.Contains(decoded, "//") || !utf8.ValidString(decoded) || strings.ContainsFunc(decoded, unicode.IsControl) {
		return false
	}
	folded := norm.NFKC.String(decoded)
	return !strings.Contains(folded, "%") && !blankSegment(folded) && (isASCII(decoded) || !dotsInASCII(decoded, folded))
}

// blankSegment reports whether a segment without its parameters has only dots and blanks.
func blankSegment(path string) bool {
	for segment := range segments(path) {
		if strings.Trim(segment, blanksAndDots) == "" {
			return true
		}
	}
	return false
}

// blanksAndDots includes the plus, which some services read as a blank.
const blanksAndDots = " .+"

// segments yields the parts between slashes and backslashes, without their parameters, queries and fragments.
func segments(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for segment := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
			if end := strings.IndexAny(segment, ";?#"); end >= 0 {
				segment = segment[:end]
			}
			if !yield(segment) {
				return
			}
		}
	}
}

// dotsInASCII reports whether a service that knows only ASCII may read a segment of dots. Such a service drops other characters,
// keeps their last byte (U+012E is a dot then), or writes similar ones in their place: a dot for punctuation, of which it may
// drop the rest, a slash for symbols and punctuation. A name without any ASCII is not a segment of dots.
func dotsInASCII(decoded, folded string) bool {
	similar := func(class func(rune) bool, ascii rune) func(rune) rune {
		return func(r rune) rune {
			if r > unicode.MaxASCII && class(r) {
				return ascii
			}
			return r
		}
	}
	for _, reading := range [...]string{
		strings.Map(similar(func(rune) bool { return true }, -1), folded),
		strings.Map(func(r rune) rune { return r & 0xff }, decoded),
		strings.Map(similar(unicode.IsPunct, '.'), folded),
		strings.Map(similar(noName, -1), strings.Map(similar(unicode.IsPunct, '.'), folded)),
		strings.Map(similar(noName, '/'), folded),
	} {
		for segment := range segments(reading) {
			if strings.Contains(segment, ".") && strings.Trim(segment, blanksAndDots) == "" {
				return true
			}
		}
	}
	return false
}

// noName reports whether a character does not occur in names.
func noName(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) }

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}
