package upstream

import (
	"context"
	"io"
	"net/http"
	"time"
)

// drainBytes bounds what is read of an answer whose client has left.
const drainBytes = 8 << 20

// body is an answer's body on its way to a client: read with a bound on silence, and drained when the client is
// gone, because the usage stands at the end and is owed either way.
type body struct {
	io.ReadCloser
	client   *Client
	conn     *conn
	exchange *Exchange
	reusable bool        // upstream keeps the connection open behind this answer
	framed   bool        // its end is told apart from the connection's
	ended    bool        // EOF or an error was read
	closed   bool        // the connection is not ours any more
	limit    time.Time   // the end of draining; zero before it began
	leave    func() bool // stops waiting for the client to leave; nil before it began
}

func (b *body) begin(u *Client, x *Exchange, conn *conn, answer *http.Response) {
	*b = body{ReadCloser: answer.Body, client: u, conn: conn, exchange: x, reusable: !answer.Close}
	b.framed = answer.ContentLength >= 0 || len(answer.TransferEncoding) > 0
	if x.Limit > 0 {
		b.limit = time.Now().Add(x.Limit)
	}
	conn.body = b
}

// arm bounds the silence before the next bytes of the connection, and, once the client has left, the time for draining.
func (b *body) arm() {
	if b.leave == nil && !b.exchange.Uncut {
		// The client may leave while upstream is silent: the read that waits ends with the time for draining. An answer
		// that came together with its header never gets here.
		conn, bound := b.conn, b.client.config.DrainTime
		b.leave = context.AfterFunc(b.exchange.Client, func() { _ = conn.SetReadDeadline(time.Now().Add(bound)) })
	}
	now := time.Now()
	b.exchange.Listener.Runs(now)
	deadline := now.Add(b.client.config.IdleTimeout)
	_ = b.conn.SetReadDeadline(deadline) // a connection that is closed fails at the read
	// Looked at after the deadline is set: a client that leaves in between is not overlooked.
	if b.limit.IsZero() && b.gone() {
		b.limit = time.Now().Add(b.client.config.DrainTime)
	}
	if !b.limit.IsZero() && deadline.After(b.limit) {
		_ = b.conn.SetReadDeadline(b.limit)
	}
}

// gone reports whether the client has left and what is read is drained.
func (b *body) gone() bool { return !b.exchange.Uncut && b.exchange.Client.Err() != nil }

func (b *body) Read(p []byte) (int, error) {
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.read(p)
	if n > 0 {
		b.exchange.Listener.Heard(p[:n])
	}
	if err != nil {
		b.ended, b.exchange.Whole = true, err == io.EOF
		err = b.explain(err)
	}
	return n, err
}

// read counts the time that the next bytes take. Bytes that are here already take none.
func (b *body) read(p []byte) (int, error) {
	if b.conn.in.Buffered() > 0 {
		return b.ReadCloser.Read(p)
	}
	before := b.client.config.Now()
	n, err := b.ReadCloser.Read(p)
	b.exchange.Arrived = b.client.config.Now()
	b.exchange.Waited += b.exchange.Arrived.Sub(before)
	return n, err
}

func (b *body) explain(err error) error {
	if err == io.EOF {
		return err
	}
	fault := explain(err, true)
	b.exchange.Fault = fault
	b.exchange.Wanted = b.limit.IsZero() && !b.gone() // the end of draining is no fault of the service's
	return fault
}

// Close drains what is left, within bounds, and lets the connection go.
func (b *body) Close() error {
	if !b.ended {
		if b.limit.IsZero() {
			b.limit = time.Now().Add(b.client.config.DrainTime)
		}
		_, _ = io.CopyN(io.Discard, b, drainBytes)
	}
	b.abandon()
	return nil
}

// abandon lets the connection go without reading what is left.
func (b *body) abandon() {
	if b.closed {
		return
	}
	b.closed, b.ended = true, true
	if b.leave != nil && !b.leave() {
		b.reusable = false // a deadline may still be set on it
	}
	b.conn.body = nil
	b.exchange.Clean = b.exchange.Whole && b.framed
	b.exchange.Listener.Ended()
	b.conn.finish(b.exchange.Whole && b.reusable, b.exchange.Arrived)
}
