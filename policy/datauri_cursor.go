package policy

import (
	"bytes"
	"unicode/utf8"
)

// cursor walks the characters of a string of the document without decoding it as a whole.
type cursor struct {
	raw     []byte // between the quotes
	pos     int
	escaped bool // raw may hold escapes
}

// notASCII is what next returns for a character beyond ASCII, none of which is ever looked for.
const notASCII = 0xFF

// next consumes one character.
func (c *cursor) next() (b byte, ok bool) {
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
		return notASCII, true
	}
	return byte(r), true
}

// skip passes over n ASCII characters.
func (c *cursor) skip(n int) {
	for c.escaped && n > 0 && c.pos < len(c.raw) {
		run := bytes.IndexByte(c.raw[c.pos:min(c.pos+n, len(c.raw))], '\\')
		if run < 0 {
			break
		}
		c.pos += run
		c.next()
		n -= run + 1
	}
	c.pos = min(c.pos+n, len(c.raw))
}
