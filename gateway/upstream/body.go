package upstream

import (
	"context"
	"io"
	"net/http"
	"time"
)

// drainBytes bounds how much is read of an answer whose client has left.
const drainBytes = 8 << 20

// body is an answer's body. Reading has a bound on silence. When the client has left, the rest is read and dropped, because the
// usage is at the end of the answer and must be charged.
type body struct {
	io.ReadCloser
	client   *Client
	conn     *conn
	exchange *Exchange
	request  context.Context // its end closes the connection
	reusable bool            // the service keeps the connection open after this answer
	framed   bool            // its end differs from the end of the connection
	ended    bool            // EOF or an error was read
	closed   bool            // the connection was given back
	limit    time.Time       // the end of draining; zero: not draining
	readBy   time.Time       // the deadline for reading that was set last; zero: none
	leave    func() bool     // stops waiting for the client to leave; nil: not waiting
	stay     func() bool     // stops waiting for the end of the request's context; nil: not waiting
}

func (b *body) begin(u *Client, x *Exchange, conn *conn, answer *http.Response) {
	*b = body{ReadCloser: answer.Body, client: u, conn: conn, exchange: x, request: answer.Request.Context(), reusable: !answer.Close}
	b.framed = answer.ContentLength >= 0 || len(answer.TransferEncoding) > 0
	if x.Limit > 0 {
		b.limit = time.Now().Add(x.Limit)
	}
	conn.body = b
}

// arm sets the deadline for the next bytes: the bound on silence, and once the client has left, the end of draining.
func (b *body) arm() {
	if b.leave == nil && !b.exchange.Uncut {
		// The client may leave while a read waits; the read then ends with the time for draining. A body that came together
		// with its header never gets here.
		conn, bound := b.conn, b.client.config.DrainTime
		b.leave = context.AfterFunc(b.exchange.Client, func() { _ = conn.SetReadDeadline(time.Now().Add(bound)) })
	}
	now := time.Now()
	b.exchange.Listener.Runs(now)
	b.boundSilence(now)
	// This check follows the deadline, so that a client that leaves in between is not missed.
	if b.limit.IsZero() && b.clientLeft() {
		b.limit = time.Now().Add(b.client.config.DrainTime)
	}
	if !b.limit.IsZero() && b.readBy.After(b.limit) {
		b.readBy = b.limit
		_ = b.conn.SetReadDeadline(b.limit)
	}
}

// boundSilence sets a deadline for reading, unless the one in force is late enough: most frames of a stream come soon after the
// one before.
func (b *body) boundSilence(now time.Time) {
	bound := b.client.config.IdleTimeout
	if b.readBy.Sub(now) < bound {
		b.readBy = now.Add(bound + bound/deadlineSlack)
		_ = b.conn.SetReadDeadline(b.readBy) // on a closed connection the read fails
	}
}

// clientLeft reports whether the client has left and the rest is to be dropped.
func (b *body) clientLeft() bool { return !b.exchange.Uncut && b.exchange.Client.Err() != nil }

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

// read adds the time until the next bytes to Waited. Buffered bytes take none.
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
	if cause := context.Cause(b.request); cause != nil {
		err = cause
	}
	fault := explain(err, true)
	b.exchange.Fault = fault
	b.exchange.Wanted = b.limit.IsZero() && !b.clientLeft() // the end of draining is not the service's fault
	return fault
}

// Close reads and drops the rest, within bounds, and gives the connection back.
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

// abandon gives the connection back without reading the rest, which closes it.
func (b *body) abandon() {
	if b.closed {
		return
	}
	b.closed, b.ended = true, true
	if b.leave != nil && !b.leave() {
		b.reusable = false // a deadline may still be set on it
	}
	if b.stay != nil && !b.stay() {
		b.reusable = false
	}
	b.conn.body = nil
	b.exchange.Clean = b.exchange.Whole && b.framed
	b.exchange.Listener.Ended()
	b.conn.finish(b.exchange.Whole && b.reusable, b.exchange.Arrived)
}
