package wire

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"

	"sluice/gateway/simulator/answer"
)

// kept is a ResponseWriter that keeps everything.
type kept struct {
	bytes.Buffer
	header http.Header
	status int
}

// Header returns the header kept.
func (k *kept) Header() http.Header { return k.header }

// WriteHeader keeps the status.
func (k *kept) WriteHeader(status int) { k.status = status }

// crawl sends the answer with a pause before every header line. It writes HTTP itself, since the server sends a header
// in one piece.
func (x *Exchange) crawl(a answer.Answer) {
	whole, w := &kept{header: x.W.Header().Clone()}, x.W
	x.W = whole
	x.sendBody(a)
	whole.header.Set("Content-Length", strconv.Itoa(whole.Len()))
	whole.header.Set("Connection", "close")
	var head bytes.Buffer
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", whole.status, http.StatusText(whole.status))
	_ = whole.header.Write(&head) // into memory
	conn := seize(w)
	defer conn.Close()
	for line := range bytes.Lines(append(head.Bytes(), "\r\n"...)) {
		if !pause(x.Ctx, x.Fault.HeaderDelay) {
			return
		}
		if _, err := conn.Write(line); err != nil {
			return
		}
	}
	_, _ = conn.Write(whole.Bytes())
}
