package upstream

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"unicode/utf8"
)

// Stream passes a stream of events on, byte for byte, in pieces that end where events end. The ReverseProxy flushes after each
// read, and some clients decode each piece by itself: a piece that ended inside a character would garble it. An event that is
// larger than the reader's buffer is handed out in parts that end between characters, and one that is larger than longestPiece
// is passed on in pieces that do.
//
// A stream waits most of its life, so its reader's buffer may be small: a larger event is read into a buffer that is lent.
type Stream struct {
	io.ReadCloser
	cover streamCover
	watch func(piece []byte) // sees each piece before it is passed on; may be nil
	tail  []byte             // read and not passed on: the beginning of an event
	ready []byte             // passed on and not handed out, in lent
	lent  *[longestPiece]byte
	err   error // the error that ended the stream, returned once the rest is handed out
}

// longestPiece is the longest part of a stream that is read before it is passed on.
const longestPiece = 32 << 10

// longPieces are lent for events that are larger than the reader's buffer.
var longPieces = sync.Pool{New: func() any { return new([longestPiece]byte) }}

// NewStream passes a stream on with the key and the address covered. watch sees each piece before it is passed on, and MUST NOT
// keep it; it may be nil.
func NewStream(from io.ReadCloser, s *Secrets, watch func(piece []byte)) *Stream {
	return &Stream{ReadCloser: from, cover: streamCover{secrets: s}, watch: watch}
}

func (f *Stream) Read(p []byte) (int, error) {
	if len(f.ready) > 0 {
		return f.hand(p), nil
	}
	p = p[:min(len(p), longestPiece)]
	n, end := copy(p, f.tail), 0
	if n == len(f.tail) {
		end, n = f.fill(p, n)
	}
	switch {
	case end > 0:
		f.tail = append(f.tail[:0], p[end:n]...)
		f.pass(p[:end])
		return end, nil
	case n == 0:
		return 0, f.err
	}
	f.readLong(p[:n])
	return f.hand(p), nil
}

// fill reads after the first n bytes of piece until an event ends, and returns where to cut and how much there is. The cut is
// 0 if the piece is full and a larger one may hold the event.
func (f *Stream) fill(piece []byte, n int) (end, have int) {
	for n < len(piece) && f.err == nil {
		var m int
		m, f.err = f.ReadCloser.Read(piece[n:])
		from := max(n-3, 0)
		n += m
		if border := lastBorder(piece[from:n]); border > 0 {
			return from + border, n
		}
	}
	switch {
	case f.err != nil:
		return n, n
	case n == longestPiece:
		return f.within(piece), n
	}
	return 0, n
}

// readLong reads an event that is larger than the reader's buffer, beginning with begun, and passes it on.
func (f *Stream) readLong(begun []byte) {
	f.lent = longPieces.Get().(*[longestPiece]byte)
	piece := f.lent[:]
	n := max(copy(piece, f.tail), copy(piece, begun)) // begun begins with the tail, or is a part of it
	end, n := f.fill(piece, n)
	f.ready, f.tail = piece[:end], append(f.tail[:0], piece[end:n]...)
	f.pass(f.ready)
}

// hand copies the next part of what is ready, and gives the lent buffer back after the last part.
func (f *Stream) hand(p []byte) int {
	n := copy(p, f.ready[:part(f.ready, len(p))])
	if f.ready = f.ready[n:]; len(f.ready) == 0 {
		f.giveBack()
	}
	return n
}

// Close gives the lent buffer back, and closes the stream.
func (f *Stream) Close() error {
	f.giveBack()
	return f.ReadCloser.Close()
}

func (f *Stream) giveBack() {
	if f.ready = nil; f.lent != nil {
		longPieces.Put(f.lent)
		f.lent = nil
	}
}

// within returns where to cut a full piece that ends inside an event: between characters, and before a text that the next piece may
// complete to the key or the address, unless that text fills the piece.
func (f *Stream) within(piece []byte) int {
	end := lastRune(piece)
	if whole := f.cover.secrets.begins(piece[:end]); whole > 0 {
		return whole
	}
	return end
}

// pass covers a piece and shows it to watch.
func (f *Stream) pass(piece []byte) {
	f.cover.cover(piece)
	if f.watch != nil {
		f.watch(piece)
	}
}

// part returns how much of a piece goes into a buffer of that size. The part ends between characters, and leaves the blank line that ends
// an event whole.
func part(piece []byte, size int) int {
	if len(piece) <= size {
		return len(piece)
	}
	end := lastRune(piece[:size])
	for from := end; from > max(end-3, 0) && len(piece)-from <= 3; from-- {
		if lastBorder(piece[from:]) > 0 {
			return from
		}
	}
	return end
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

// streamCover covers the service's key in every frame, because an error need not be marked as one, and the service's address in
// frames that are marked as errors: a success may name it.
type streamCover struct {
	secrets *Secrets
	within  bool // the last piece ended inside an error frame
}

// cover covers the next piece, in place and letter for letter.
func (f *streamCover) cover(whole []byte) {
	f.secrets.RedactKeys(whole)
	from := 0
	if !f.within {
		from = errorFrame(whole)
	}
	if f.within = false; from >= 0 {
		f.secrets.Redact(whole[from:])
		f.within = lastBorder(whole) != len(whole)
	}
}

// errorFrame returns where the first error frame begins, or -1. JSON has no raw line ends, so model text cannot look like a
// line of the stream.
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

// saysError reports whether a line is "event:error", in any case and with any blanks before the name.
func saysError(line []byte) bool {
	value, ok := cutFold(line, "event:")
	if !ok {
		return false
	}
	_, ok = cutFold(bytes.TrimLeft(value, " \t"), "error")
	return ok
}

// cutFold cuts a prefix in any case. Its first letter has only one other case. It decides for nearly all texts.
func cutFold(text []byte, prefix string) ([]byte, bool) {
	if len(text) < len(prefix) || text[0]|0x20 != prefix[0] || !strings.EqualFold(string(text[:len(prefix)]), prefix) {
		return nil, false
	}
	return text[len(prefix):], true
}

// longestAnswer bounds an answer that is not a stream, in bytes. It is passed on as it arrives; the bound ends endless answers.
const longestAnswer = 256 << 20

var errEndless = errors.New("the service's answer is over the bound")

// Bounded ends an endless answer with an [*Error], so that the client sees a cut and not a whole answer.
type Bounded struct {
	io.ReadCloser
	read int64
}

func (b *Bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.read += int64(n); b.read > longestAnswer {
		return 0, &Error{Lost, errEndless}
	}
	return n, err
}

// longestGlance bounds how much is read of a stream to see whether it begins with an error.
const longestGlance = 4 << 10

// Glance reads the beginning of a stream: its first event, and more while goesOn says so; open: the last event is not whole yet. It reads
// at most longestGlance. If all of the stream was read and goesOn agrees, the exchange ends. The body can then be read from its beginning.
func Glance(answer *http.Response, goesOn func(open bool) bool) {
	seen := &begun{ReadCloser: answer.Body, head: make([]byte, 0, longestGlance)}
	for more := true; more; {
		n, err := answer.Body.Read(seen.head[len(seen.head):cap(seen.head)])
		seen.head, seen.err = seen.head[:len(seen.head)+n], err
		border := lastBorder(seen.head)
		more = err == nil && len(seen.head) < cap(seen.head) && (border == 0 || goesOn(border < len(seen.head)))
	}
	if seen.err == io.EOF && goesOn(false) {
		_ = answer.Body.Close()
	}
	answer.Body = seen
}

// begun is a body of which the beginning was read already.
type begun struct {
	io.ReadCloser
	head []byte
	err  error // the end of the body, if that was read, too
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.head) > 0 {
		n := copy(p, b.head)
		if b.head = b.head[n:]; len(b.head) == 0 {
			b.head = nil
		}
		return n, nil
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.ReadCloser.Read(p)
}
