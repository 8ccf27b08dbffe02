package upstream

import (
	"io"
	"net/http"
)

// longestGlance bounds how much is read of a stream to see whether it begins with an error.
const longestGlance = 4 << 10

// Glance reads the beginning of a stream: its first event, and more while goesOn returns true; open: the last event is not whole yet. It
// reads at most longestGlance. If the stream ended and goesOn returns true, the exchange ends. The body is then read from its start.
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

// begun is a body whose beginning has been read.
type begun struct {
	io.ReadCloser
	head []byte
	err  error // the end of the body, if it was read
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
