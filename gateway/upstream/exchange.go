package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	// drainBytes bounds how much is read of an answer whose client has left.
	drainBytes = 8 << 20
	// saidTime bounds how long the end of an answer is awaited that has nothing more to say, so that its connection can be used again.
	saidTime = time.Second
)

// body is an answer's body. Reading has a bound on silence. When the client has left, the rest is read and dropped, because the
// usage is at the end of the answer and must be charged.
type body struct {
	io.ReadCloser
	conn     *conn
	exchange *Exchange
	request  context.Context // its end closes the connection
	reusable bool            // the service keeps the connection open after this answer
	framed   bool            // its end differs from the end of the connection
	ended    bool            // EOF or an error was read
	closed   bool            // the connection was given back
	limit    time.Time       // the end of the exchange, or of draining; zero: neither
	readBy   time.Time       // the deadline for reading that was set last; zero: none
	leave    func() bool     // stops waiting for the client to leave; nil: not waiting
	stay     func() bool     // stops waiting for the end of the request's context; nil: not waiting
}

func (b *body) begin(x *Exchange, conn *conn, answer *http.Response) {
	*b = body{ReadCloser: answer.Body, conn: conn, exchange: x, request: answer.Request.Context(), reusable: !answer.Close}
	b.framed = answer.ContentLength >= 0 || len(answer.TransferEncoding) > 0
	b.limit = x.ends
	conn.body = b
}

// arm sets the deadline for the next bytes: the rest of the bound on silence, or the next pulse; once the client has left, the end of
// draining.
func (b *body) arm(silent time.Duration) (now time.Time) {
	if b.leave == nil && !b.exchange.Uncut {
		// The client may leave while a read waits; the read then ends with the time for draining. A body that came together
		// with its header never gets here.
		conn, bound := b.conn, b.conn.pool.config.DrainTime
		b.leave = context.AfterFunc(b.exchange.Client, func() { _ = conn.SetReadDeadline(time.Now().Add(bound)) })
	}
	now = time.Now()
	b.exchange.Listener.Runs(now)
	bound := b.conn.pool.config.IdleTimeout - silent
	if b.exchange.Pulse != nil && !b.clientLeft() {
		bound = min(bound, b.conn.pool.config.PulseTime)
	}
	// The deadline in force may be late enough: most frames of a stream come soon after the one before.
	if b.readBy.Sub(now) < bound {
		b.readBy = now.Add(bound + bound/deadlineSlack)
		_ = b.conn.SetReadDeadline(b.readBy) // on a closed connection the read fails
	}
	// This check follows the deadline, so that a client that leaves in between is not missed.
	if b.limit.IsZero() && b.clientLeft() {
		b.limit = time.Now().Add(b.conn.pool.config.DrainTime)
	}
	if !b.limit.IsZero() && b.readBy.After(b.limit) {
		b.readBy = b.limit
		_ = b.conn.SetReadDeadline(b.limit)
	}
	return now
}

// pulse calls the exchange's Pulse if the deadline that passed was the time of a pulse and no bound, and reports whether it was.
func (b *body) pulse(silent time.Duration) bool {
	switch {
	case b.exchange.Pulse == nil, silent >= b.conn.pool.config.IdleTimeout, !b.limit.IsZero() && !time.Now().Before(b.limit):
		return false
	case !b.clientLeft():
		b.exchange.Pulse()
	}
	b.readBy = time.Time{} // it has passed
	return true
}

// clientLeft reports whether the client has left and the rest is to be dropped.
func (b *body) clientLeft() bool { return !b.exchange.Uncut && b.exchange.Client.Err() != nil }

func (b *body) Read(p []byte) (int, error) {
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.read(p)
	if n > 0 {
		b.exchange.Listener.Received(p[:n])
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
	before := b.conn.pool.config.Now()
	n, err := b.ReadCloser.Read(p)
	b.exchange.Arrived = b.conn.pool.config.Now()
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
			b.limit = time.Now().Add(b.conn.pool.config.DrainTime)
		}
		if most := time.Now().Add(saidTime); b.exchange.Said && most.Before(b.limit) {
			b.limit = most
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

// Exchange follows one request to the service and its answer. [WithExchange] gives it to one call of [Client.RoundTrip].
type Exchange struct {
	// Set by the caller.

	Sent     time.Time       // when the exchange begins
	Client   context.Context // ends when the client has left; the rest of the answer is then read for a while and dropped
	Uncut    bool            // the answer is read to its end even if the client has left
	Limit    time.Duration   // bounds the whole exchange, connecting and the body included; 0: as the Client does, and the body not at all
	Listener Listener
	Said     bool   // set inside the answer: the rest of it says nothing more, and is awaited only for a moment
	Pulse    func() // called after each Config.PulseTime of silence inside the answer, by the goroutine that reads it; may be nil

	// Set by the exchange.

	Reached bool          // a byte of the request may have left
	Waited  time.Duration // time spent waiting for the service
	Arrived time.Time     // when bytes last arrived
	Whole   bool          // the answer was read to its end
	Clean   bool          // and the end cannot be a cut, because the answer was framed
	Fault   error         // why reading the body failed, an [*Error]; nil: it did not
	Wanted  bool          // the client was still there when it failed

	ends time.Time // by Limit; zero: without one
	head answerHead
	body body
}

// exchangeKey is the key of an exchange in a request's context.
type exchangeKey struct{}

// begin begins the exchange's Limit, and returns the context for connecting, which must be ended.
func (x *Exchange) begin(ctx context.Context) (connecting context.Context, connected func()) {
	if x.ends = (time.Time{}); x.Limit == 0 {
		return ctx, func() {}
	}
	x.ends = time.Now().Add(x.Limit)
	return context.WithDeadline(ctx, x.ends)
}

// WithExchange returns a context for a request that an exchange follows.
func WithExchange(ctx context.Context, x *Exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// noListener is the listener of an exchange that has none.
type noListener struct{}

func (noListener) Runs(time.Time)  {}
func (noListener) Received([]byte) {}
func (noListener) Ended()          {}

// Reset makes an ended exchange ready for another one. It keeps the memory, but none of its contents.
func (x *Exchange) Reset() {
	head := answerHead{header: x.head.header, values: x.head.values}
	clear(head.header)
	clear(head.values[:cap(head.values)])
	*x = Exchange{head: head}
}

// Listener follows an exchange.
type Listener interface {
	// Runs is called while the exchange goes on: before each large piece of the request, and before each wait for bytes of the
	// answer's body. Both goroutines may call it concurrently.
	Runs(now time.Time)
	// Received is called with each piece of the answer's body, and MUST NOT keep it.
	Received(piece []byte)
	// Ended is called once, when the body is closed.
	Ended()
}

// Abandon gives the answer up without reading the rest of it. It may be called more than once.
func (x *Exchange) Abandon() { x.body.abandon() }

// Release returns when the request's body is no longer read. It closes the connection of an answer whose body was not closed,
// which a panic may leave open, and calls no Listener. It may be called more than once.
func (x *Exchange) Release() {
	if b := &x.body; b.conn != nil && !b.closed {
		b.closed = true
		if b.leave != nil {
			b.leave()
		}
		if b.stay != nil {
			b.stay()
		}
		b.conn.drop()
	}
}

// Failure is a kind of failure of an exchange.
type Failure int

// The failures.
const (
	Unreachable Failure = iota // no byte of the request left
	Silent                     // the service did not answer in time, or fell silent inside its answer
	Lost                       // the answer broke off or cannot be read
)

// Error is how an exchange failed, and why.
type Error struct {
	Failure Failure
	Err     error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Unreached says for clients why the service was not reached.
func (e *Error) Unreached() string {
	if refused, ok := errors.AsType[*ProxyError](e.Err); ok {
		return fmt.Sprintf("The proxy on the way to the service refused the connection with status %d", refused.Status)
	}
	return "The service could not be reached"
}

// explain classifies an error. sent: a byte of the request has left.
func explain(err error, sent bool) *Error {
	switch {
	case !sent:
		return &Error{Unreachable, err}
	case isTimeout(err):
		return &Error{Silent, err}
	}
	return &Error{Lost, err}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
