package gateway

import (
	"io"
	"net/http"
	"time"

	"sluice/gateway/wire"
)

// leaveBody is called when the answer, a refusal as a rule, is sent while the body is still arriving and will not be read. By
// itself net/http would read the rest of the body first, without a time limit. Full duplex sends the answer first, and a body
// that does not come within lingerTime ends the connection.
func (w *reply) leaveBody(now time.Time) {
	_ = w.control.EnableFullDuplex()
	_ = w.control.SetReadDeadline(now.Add(w.terms.lingerTime))
}

// linger reads and drops the rest of a body after its answer, so that the client reads the answer and not a reset connection,
// and ends the connection unless the body came whole. What net/http does with such a rest differs between its patches: some
// keep the connection, and read what comes later as another request.
func (w *reply) linger(r *http.Request) {
	if w.state.bodyEnded || !w.ended || !w.wrote || !w.alone {
		return
	}
	if !w.dropBody(r) {
		wire.EndConnection(w.bare)
	}
}

// dropBody reports whether the body came whole. A client that waits for 100 Continue sends nothing.
func (w *reply) dropBody(r *http.Request) bool {
	if r.Header.Get("Expect") != "" {
		return false
	}
	_ = w.control.Flush()
	_, err := io.CopyN(io.Discard, r.Body, lingerBytes)
	return err == io.EOF
}
