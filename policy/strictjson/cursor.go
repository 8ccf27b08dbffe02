package strictjson

import (
	"bytes"
	"unicode/utf8"
)

// Cursor walks the characters of a string of the document without decoding it as a whole. A copy walks on its own.
type Cursor struct {
	raw     []byte
	pos     int
	escaped bool
}

// NewCursor puts a cursor before the first character of a string, by what [Scanner.Raw] and Text.Escaped say of it.
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
