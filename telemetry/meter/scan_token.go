package meter

import "unicode/utf8"

// maxToken is how many bytes of a name or value are kept. Only the message of an error may be longer; other values that long
// are ignored.
const maxToken = 1024

// beginToken starts a name, string or word.
func (s *scanner) beginToken(next scanState) {
	s.state, s.token, s.over = next, s.token[:0], false
}

// keep adds to the token if the bytes of the value matter.
func (s *scanner) keep(p []byte) {
	if s.state == inSkippedString || s.state == inString && !s.place.kept() {
		return
	}
	if room := maxToken - len(s.token); len(p) > room {
		p, s.over = p[:room], true
	}
	s.token = append(s.token, p...)
}

// takeName returns the place of the member whose name was read.
func (s *scanner) takeName(name []byte) place {
	top := &s.levels[s.depth-1]
	if s.over {
		return nowhere
	}
	if top.place == placeUsage {
		if int(top.prefix)+len(name) > maxPath {
			return nowhere
		}
		s.pathLen = top.prefix + uint8(copy(s.path[top.prefix:], name))
	}
	return top.place.into(name)
}

// takeString takes a whole string value.
func (s *scanner) takeString(token []byte) {
	s.state = atComma
	if s.place != placeNumber {
		s.answer.takeString(s.place, token, s.over)
		return
	}
	known := fieldAt(s.path[:s.pathLen]) < fieldCount
	s.answer.odd = s.answer.odd || !s.over && known
}

// takeWord takes a whole number or literal.
func (s *scanner) takeWord(token []byte) {
	s.state = atComma
	if s.place != placeNumber {
		s.answer.takeWord(s.place, token)
		return
	}
	s.answer.takeNumber(s.path[:s.pathLen], token, s.over)
}

// measure takes the bytes of a string, with the escapes of JSON.
func (s *scanner) measure(p []byte) {
	if s.state != inString {
		return
	}
	if t := s.answer.text(s.place); t != nil {
		t.addBytes(p)
	} else if s.place == placeImage {
		s.answer.pictures.addBytes(p)
	}
}

// unescape takes the next byte of an escape sequence. An invalid sequence is taken as if it were valid: it cannot move the
// string's end, and the text is not kept.
func (s *scanner) unescape(c byte) {
	if s.escape == 1 && c == 'u' {
		s.escape, s.unit = 2, 0
		return
	}
	if s.escape == 1 {
		s.escape = 0
		s.unescaped(escaped(c), 2)
		return
	}
	s.unit = s.unit<<4 | fromHex(c)
	if s.escape++; s.escape == 6 {
		s.escape = 0
		s.unescaped(s.unit, 6)
	}
}

// unescaped keeps a code point whose escape sequence has that many bytes. Half of a surrogate pair counts as half of the
// pair's four bytes in UTF-8, and is kept as U+FFFD; only error messages can contain it.
func (s *scanner) unescaped(r rune, bytes int) {
	length := utf8.RuneLen(r)
	if length < 0 {
		length, r = 2, utf8.RuneError
	}
	if s.state == inString {
		if t := s.answer.text(s.place); t != nil {
			t.length += length - bytes
		}
	}
	var encoded [utf8.UTFMax]byte
	s.keep(utf8.AppendRune(encoded[:0], r))
}

// escaped is the meaning of a backslash and c.
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
