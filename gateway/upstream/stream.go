package upstream

import (
	"io"
	"slices"
	"unicode/utf8"
)

// Stream passes a stream of events on, byte for byte, in pieces that end where events end. The ReverseProxy flushes after each
// read, and some clients decode each piece alone: a piece that ended inside a character would garble it. An event that is
// larger than the reader's buffer is passed on in pieces that end between characters.
type Stream struct {
	io.ReadCloser
	cover streamCover
	watch func(piece []byte) // sees each piece before it is passed on; may be nil
	tail  []byte             // read and not passed on: the beginning of an event
	err   error              // the end of the stream, returned once the tail is passed on
}

// NewStream passes a stream on with the key and the address covered. watch sees each piece before it is passed on, and MUST NOT
// keep it; it may be nil.
func NewStream(from io.ReadCloser, c *Credential, watch func(piece []byte)) *Stream {
	return &Stream{ReadCloser: from, cover: streamCover{credential: c}, watch: watch}
}

func (f *Stream) Read(p []byte) (int, error) {
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

// within is where a full piece is cut that ends inside an event: between characters, and before a text that the next piece may
// complete to the key or the address, unless that text fills the piece.
func (f *Stream) within(piece []byte) int {
	end := lastRune(piece)
	if whole := f.cover.credential.begins(piece[:end]); whole > 0 {
		return whole
	}
	return end
}

// keep saves what was read and is not passed on yet: the bytes after the cut, and the rest of the tail if p was too small for
// it.
func (f *Stream) keep(unpassed, rest []byte) {
	if len(rest) > 0 {
		f.tail = slices.Concat(unpassed, rest)
		return
	}
	f.tail = append(f.tail[:0], unpassed...)
}

func (f *Stream) pass(whole []byte) (int, error) {
	if len(whole) == 0 && len(f.tail) == 0 && f.err != nil {
		return 0, f.err
	}
	f.cover.cover(whole)
	if f.watch != nil {
		f.watch(whole)
	}
	return len(whole), nil
}

// lastBorder returns the length up to and including the last blank line, or 0. Lines end with LF, CR or both. It searches from
// the end, because nearly every piece ends with one.
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

// lastRune returns the length of p without an incomplete character at its end.
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
