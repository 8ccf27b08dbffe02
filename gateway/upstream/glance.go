package upstream

import (
	"io"
	"net/http"
)

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
