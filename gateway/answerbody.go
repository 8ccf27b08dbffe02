package gateway

import (
	"io"
	"net/http"
	"time"
)

const (
	drainBytes = 8 << 20
	drainTime  = 30 * time.Second
)

// answerBody is an answer's body on its way to a client: read with a bound on silence, and drained when the client is
// gone, because the usage stands at the end and is owed either way.
type answerBody struct {
	io.ReadCloser
	conn     *conn
	call     *call
	gateway  *Gateway
	reusable bool      // upstream keeps the connection open behind this answer
	ended    bool      // EOF or an error was read
	whole    bool      // EOF was read
	closed   bool      // the connection is not ours any more
	limit    time.Time // the end of draining; zero before it began
}

func (b *answerBody) Read(p []byte) (int, error) {
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	before := b.gateway.Now()
	b.extendDeadline()
	n, err := b.ReadCloser.Read(p)
	b.call.waited += b.gateway.Now().Sub(before)
	if err != nil {
		b.ended, b.whole = true, err == io.EOF
		err = b.explain(err)
	}
	return n, err
}

// extendDeadline bounds the silence before the next bytes. Bytes that are here already need no deadline.
func (b *answerBody) extendDeadline() {
	if b.conn.in.Buffered() > 0 {
		return
	}
	deadline := time.Now().Add(b.gateway.IdleTimeout)
	if !b.limit.IsZero() && deadline.After(b.limit) {
		deadline = b.limit
	}
	_ = b.conn.SetReadDeadline(deadline) // a connection that is closed fails at the read
}

func (b *answerBody) explain(err error) error {
	if err == io.EOF {
		return err
	}
	row := refuseAnswer
	if isTimeout(err) {
		row = refuseSilent
	}
	b.call.Refusal = row.name // for the log, where the header has left already
	return refuse(row).because(err)
}

// Close drains what is left, within bounds, and lets the connection go.
func (b *answerBody) Close() error {
	if !b.ended {
		b.limit = time.Now().Add(drainTime)
		_, _ = io.CopyN(io.Discard, b, drainBytes)
	}
	b.abandon()
	return nil
}

// abandon lets the connection go without reading what is left.
func (b *answerBody) abandon() {
	if b.closed {
		return
	}
	b.closed, b.ended = true, true
	b.conn.finish(b.whole && b.reusable)
}
