package gateway

import (
	"io"
	"unicode/utf8"
)

// frames passes a stream of events on, byte for byte, in pieces that end where events end. The ReverseProxy flushes
// after each read, and some clients decode each piece on its own: a piece that ended inside a character would garble
// it. An event that is larger than the reader's buffer is passed in pieces that end between characters.
type frames struct {
	io.ReadCloser
	watch func(whole []byte) error // sees each piece before it is passed on
	tail  []byte                   // read and not passed on: the beginning of an event
	err   error                    // what the stream ended with, once the tail is passed on
}

func newFrames(from io.ReadCloser, watch func([]byte) error) *frames {
	return &frames{ReadCloser: from, watch: watch}
}

func (f *frames) Read(p []byte) (int, error) {
	n := copy(p, f.tail)
	rest := f.tail[n:]
	end := n
	for len(rest) == 0 && f.err == nil {
		var m int
		m, f.err = f.ReadCloser.Read(p[n:])
		from := max(n-3, 0)
		n += m
		if end = from + lastBorder(p[from:n]); end > from {
			break
		}
		if end = n; n == len(p) {
			end = lastRune(p)
			break
		}
	}
	f.keep(p[end:n], rest)
	return f.pass(p[:end])
}

// keep saves what was read and is not passed on yet: the end of the tail where p was too small for all of it, else what
// followed the last border. Only one of the two can be.
func (f *frames) keep(unpassed, rest []byte) {
	if len(rest) > 0 {
		f.tail = rest
		return
	}
	f.tail = append(f.tail[:0], unpassed...)
}

func (f *frames) pass(whole []byte) (int, error) {
	if len(whole) == 0 && len(f.tail) == 0 && f.err != nil {
		return 0, f.err
	}
	if err := f.watch(whole); err != nil {
		return 0, err
	}
	return len(whole), nil
}

// lastBorder returns the length up to and with the last blank line, or 0. Lines end with LF, CR or both. It looks from
// the end, where a piece nearly always has its border.
func lastBorder(p []byte) int {
	for i := len(p) - 1; i > 0; i-- {
		switch p[i] {
		case '\n':
			if p[i-1] == '\n' || i > 1 && p[i-1] == '\r' && p[i-2] == '\n' {
				return i + 1
			}
		case '\r':
			if p[i-1] == '\r' {
				return i + 1
			}
		}
	}
	return 0
}

// lastRune returns the length of p without the beginning of a character at its end.
func lastRune(p []byte) int {
	for i := 1; i < utf8.UTFMax && i < len(p); i++ {
		b := p[len(p)-i]
		if utf8.RuneStart(b) {
			if !utf8.FullRune(p[len(p)-i:]) {
				return len(p) - i
			}
			break
		}
	}
	return len(p)
}
