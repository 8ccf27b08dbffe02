package gateway

import (
	"io"
	"net/http"
	"time"
)

// leaveBody is called when the answer, a refusal as a rule, is sent while the body is still arriving and will not be read. By
// itself net/http would read the rest of the body first, without a time limit. Full duplex sends the answer first, and a body
// that does not come within lingerTime ends the connection.
func (w *reply) leaveBody(now time.Time) {
	_ = w.control.EnableFullDuplex()
	_ = w.control.SetReadDeadline(now.Add(w.terms.lingerTime))
}

// linger reads and drops what a refused client is still sending, more of it than net/http would, so that the client reads its
// answer and not a reset connection. A client that waits for 100 Continue sends nothing.
func (w *reply) linger(r *http.Request) {
	if !w.lingers || !w.alone || r.Header.Get("Expect") != "" {
		return
	}
	_ = w.control.Flush()
	_, _ = io.CopyN(io.Discard, r.Body, lingerBytes)
}
