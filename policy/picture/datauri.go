package picture

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"sluice/policy/strictjson"
)

// DataURI is an image inside the body: data:{mime_type};base64,{data}.
type DataURI struct {
	Media  string // the media type in lower case
	Size   int    // bytes of the decoded data, computed from the number of symbols
	Padded bool   // the = that RFC 4648 puts at the end are there

	data strictjson.Cursor // stands before the first base64 symbol
}

// maxMedia bounds the media type of a data URI; the longest that means anything here is a quarter of it.
const maxMedia = 64

// IsDataURI reports whether a string of the document begins with data:, in any case. raw and escaped are what
// [strictjson.NewCursor] takes.
func IsDataURI(raw []byte, escaped bool) bool {
	c := strictjson.NewCursor(raw, escaped)
	return skipWord(&c, "data:")
}

// Base64Ahead returns how many bytes of src are the head of a data URI and the base64 after it; 0 if src is another
// string. src starts after the string's opening quote. The scanner need not look at these bytes again, which are nearly
// all of a large body.
func Base64Ahead(src []byte) (end int) {
	const mark = ";base64,"
	head := src[:min(len(src), len("data:")+maxMedia+len(mark))]
	at := bytes.Index(head, []byte(mark))
	if at < 0 || bytes.ContainsFunc(head[:at], func(c rune) bool { return c >= utf8.RuneSelf || c != ':' && c != '/' && !isMediaByte(byte(c)) }) {
		return 0
	}
	first := at + len(mark)
	return first + base64Run(src[first:])
}

// ParseDataURI reads a data URI of the form that interface.md gives: one media type, no parameters, then base64 in the
// standard alphabet without white space. The standard library cannot be used: its decoder skips line ends, and its
// parser of media types takes parameters.
//
// known is the result of [Base64Ahead] for the string, or 0.
func ParseDataURI(raw []byte, escaped bool, known int) (u DataURI, ok bool) {
	c := strictjson.NewCursor(raw, escaped)
	if !skipWord(&c, "data:") {
		return u, false
	}
	var media strings.Builder
	slashes := 0
	for {
		b, more := c.Next()
		if !more {
			return u, false
		}
		if b == ';' {
			break
		}
		if media.Len() == maxMedia {
			return u, false
		}
		if b == '/' {
			slashes++
		} else if !isMediaByte(b) {
			return u, false
		}
		media.WriteByte(lower(b))
	}
	u.Media = media.String()
	if slashes != 1 || u.Media[0] == '/' || u.Media[len(u.Media)-1] == '/' || !skipWord(&c, "base64,") {
		return u, false
	}
	u.data = c
	run := max(known-c.Offset(), 0)
	c.Seek(c.Offset() + run)
	symbols, pads := skipBase64(&c)
	symbols += run
	u.Size = symbols * 3 / 4
	u.Padded = (symbols+pads)%4 == 0
	return u, len(c.Rest()) == 0 && symbols > 0 && symbols%4 != 1 && pads <= 2 && (u.Padded || pads == 0)
}

// isMediaByte reports whether a media type may hold b, beside its slash: the characters of RFC 6838's names.
func isMediaByte(b byte) bool {
	l := lower(b)
	return l >= 'a' && l <= 'z' || b >= '0' && b <= '9' || strings.IndexByte("!#$&-^_.+", b) >= 0
}

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b | 0x20
	}
	return b
}

// skipWord consumes word in any case and reports whether it was there. word is in lower case.
func skipWord(c *strictjson.Cursor, word string) bool {
	for i := 0; i < len(word); i++ {
		if b, ok := c.Next(); !ok || lower(b) != word[i] {
			return false
		}
	}
	return true
}

// skipBase64 consumes symbols and the padding after them, and counts both.
func skipBase64(c *strictjson.Cursor) (symbols, pads int) {
	for len(c.Rest()) > 0 {
		n := base64Run(c.Rest())
		c.Seek(c.Offset() + n)
		symbols += n
		before := c.Offset()
		switch b, ok := c.Next(); {
		case ok && base64Value[b] < 64: // written as an escape: some writers escape the slash, some the plus
			symbols++
		case ok && b == '=':
			for pads = 1; ; pads++ {
				before = c.Offset()
				if b, ok := c.Next(); !ok || b != '=' {
					c.Seek(before)
					return symbols, pads
				}
			}
		default:
			c.Seek(before)
			return symbols, pads
		}
	}
	return symbols, pads
}
