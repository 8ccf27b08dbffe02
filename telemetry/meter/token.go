package meter

import (
	"strconv"
	"unicode/utf8"
)

// maxToken is how many bytes of one name or value are kept. Only an error's message is ever that long; anything else
// that is longer is nothing the Meter knows.
const maxToken = 1024

// beginToken starts a name, string or word.
func (m *Meter) beginToken(next scanState) {
	m.state, m.token, m.over = next, m.token[:0], false
}

// keep adds to the token, if the value is one whose bytes matter.
func (m *Meter) keep(p []byte) {
	if m.state == inSkippedString || m.state == inString && !m.kept() {
		return
	}
	if room := maxToken - len(m.token); len(p) > room {
		p, m.over = p[:room], true
	}
	m.token = append(m.token, p...)
}

// kept says whether a string at the current place is read, not only measured or stepped over.
func (m *Meter) kept() bool {
	return m.place >= placeRequestID && m.place <= placeFinishReason || m.place == placeNumber
}

// measure takes the bytes of a string as they stand in the JSON.
func (m *Meter) measure(p []byte) {
	if m.state != inString {
		return
	}
	if t := m.prose(); t != nil {
		t.add(p)
	} else if m.place == placeImage {
		m.pictures.add(p)
	}
}

// unescape takes the next byte of an escape sequence. A wrong one is taken as if it were right: it cannot move the
// string's end, and the text itself is not kept.
func (m *Meter) unescape(c byte) {
	if m.escape == 1 && c == 'u' {
		m.escape, m.unit = 2, 0
		return
	}
	if m.escape == 1 {
		m.escape = 0
		m.unescaped(escaped(c), 2)
		return
	}
	m.unit = m.unit<<4 | fromHex(c)
	if m.escape++; m.escape == 6 {
		m.escape = 0
		m.unescaped(m.unit, 6)
	}
}

// unescaped keeps a code point that took that many bytes as an escape sequence. Half of a surrogate pair counts as
// half of the four bytes that the pair is in UTF-8, and is kept as U+FFFD: only error messages could show it.
func (m *Meter) unescaped(r rune, bytes int) {
	length := utf8.RuneLen(r)
	if length < 0 {
		length, r = 2, utf8.RuneError
	}
	if m.state == inString {
		if t := m.prose(); t != nil {
			t.length += length - bytes
		}
	}
	var encoded [utf8.UTFMax]byte
	m.keep(utf8.AppendRune(encoded[:0], r))
}

// escaped is what a backslash and c stand for.
func escaped(c byte) rune {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return rune(c) & 0x7f
}

func fromHex(c byte) rune {
	switch {
	case c >= 'a':
		return rune(c-'a'+10) & 0xf
	case c >= 'A':
		return rune(c-'A'+10) & 0xf
	}
	return rune(c-'0') & 0xf
}

// parseNumber reads a JSON number.
func parseNumber(token []byte) (float64, bool) {
	if len(token) > 15 {
		return parseFloat(token)
	}
	n := 0
	for _, c := range token {
		if c < '0' || c > '9' {
			return parseFloat(token)
		}
		n = n*10 + int(c-'0')
	}
	return float64(n), len(token) > 0
}

// parseFloat takes no word for a number: ParseFloat knows NaN, Inf, hexadecimal digits and underscores.
func parseFloat(token []byte) (float64, bool) {
	for _, c := range token {
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	n, err := strconv.ParseFloat(string(token), 64)
	return n, err == nil
}
