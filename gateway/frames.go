package gateway

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// frames passes a stream of events on, byte for byte, in pieces that end where events end. The ReverseProxy flushes
// after each read, and some clients decode each piece on its own: a piece that ended inside a character would garble
// it. An event that is larger than the reader's buffer is passed in pieces that end between characters.
type frames struct {
	io.ReadCloser
	watch func(whole []byte) error // sees each piece before it is passed on
	hold  func(piece []byte) int   // the length of a piece that ends inside an event without what the next may complete; nil: all
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
	full := n == len(p)
	if full {
		end = f.within(p)
	}
	for !full && f.err == nil {
		var m int
		m, f.err = f.ReadCloser.Read(p[n:])
		from := max(n-3, 0)
		n += m
		if end = from + lastBorder(p[from:n]); end > from {
			break
		}
		if end = n; n == len(p) {
			end = f.within(p)
			break
		}
	}
	f.keep(p[end:n], rest)
	return f.pass(p[:end])
}

// within is where a piece ends that is full and ends inside an event: between characters, and not inside what the next piece
// may complete, unless it is all that there is room for.
func (f *frames) within(piece []byte) int {
	end := lastRune(piece)
	if f.hold != nil {
		if held := f.hold(piece[:end]); held > 0 {
			return held
		}
	}
	return end
}

// keep saves what was read and is not passed on yet: what followed the last border or the end of the piece, and the end of
// the tail where p was too small for all of it.
func (f *frames) keep(unpassed, rest []byte) {
	if len(rest) > 0 {
		f.tail = slices.Concat(unpassed, rest)
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

// frameCover covers what a stream must not tell. The key is covered in every frame: an error need not say that it is one. The
// service's address is covered in those that say so, since a success may name it.
type frameCover struct {
	*credential
	within bool // the last piece ended inside an error
}

func (f *frameCover) cover(whole []byte) {
	f.redactKeys(whole)
	from := 0
	if !f.within {
		from = errorFrame(whole)
	}
	if f.within = false; from >= 0 {
		f.redact(whole[from:])
		f.within = lastBorder(whole) != len(whole)
	}
}

// errorFrame returns where the first frame begins that says to be an error, or -1. JSON has no raw line ends, so model text
// cannot look like one.
func errorFrame(whole []byte) int {
	if saysError(whole) {
		return 0
	}
	first := -1
	for _, lineEnd := range [...]byte{'\n', '\r'} {
		for from := 0; ; {
			i := bytes.IndexByte(whole[from:], lineEnd)
			if i < 0 {
				break
			}
			if from += i + 1; saysError(whole[from:]) {
				if frame := lastBorder(whole[:from]); first < 0 || frame < first {
					first = frame
				}
				break
			}
		}
	}
	return first
}

// saysError reports whether a line names the event of an error, in whatever case and with whatever blanks.
func saysError(line []byte) bool {
	value, ok := cutFold(line, "event:")
	if !ok {
		return false
	}
	_, ok = cutFold(bytes.TrimLeft(value, " \t"), "error")
	return ok
}

func cutFold(text []byte, prefix string) ([]byte, bool) {
	if len(text) < len(prefix) || !strings.EqualFold(string(text[:len(prefix)]), prefix) {
		return nil, false
	}
	return text[len(prefix):], true
}
