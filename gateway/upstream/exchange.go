package upstream

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// Exchange follows one request to the service and its answer. [WithExchange] gives it to one call of [Client.RoundTrip].
type Exchange struct {
	// Set by the caller.

	Sent     time.Time       // when the exchange begins
	Client   context.Context // ends when the client has left; the rest of the answer is then read for a while and dropped
	Uncut    bool            // the answer is read to its end even if the client has left
	Limit    time.Duration   // for the answer's header, and for its body; 0: the Client's, and none
	Listener Listener

	// Set by the exchange.

	Reached bool          // a byte of the request may have left
	Waited  time.Duration // time spent waiting for the service
	Arrived time.Time     // when bytes last came
	Whole   bool          // the answer was read to its end
	Clean   bool          // and the end cannot be a cut, because the answer was framed
	Fault   error         // why reading the body failed, an [*Error]; nil: it did not
	Wanted  bool          // the client was still there when it failed

	head answerHead
	body body
}

// exchangeKey is the key of an exchange in a request's context.
type exchangeKey struct{}

// WithExchange returns a context for a request that an exchange follows.
func WithExchange(ctx context.Context, x *Exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// exchangeOf is the exchange that follows a request, or one that nobody looks at.
func (u *Client) exchangeOf(out *http.Request) *Exchange {
	if x, ok := out.Context().Value(exchangeKey{}).(*Exchange); ok {
		return x
	}
	return &Exchange{Sent: u.config.Now(), Client: context.Background(), Listener: nobody{}}
}

// nobody is a listener that does not listen.
type nobody struct{}

func (nobody) Runs(time.Time) {}
func (nobody) Heard([]byte)   {}
func (nobody) Ended()         {}

// Reset makes an ended exchange ready for another one. It keeps memory, and nothing that was in it.
func (x *Exchange) Reset() {
	head := answerHead{header: x.head.header, values: x.head.values}
	clear(head.header)
	clear(head.values[:cap(head.values)])
	*x = Exchange{head: head}
}

// Listener follows an exchange.
type Listener interface {
	// Runs is called while the exchange goes on: before each large piece of the request, and before each wait for bytes of the
	// answer's body. Both goroutines may call it at once.
	Runs(now time.Time)
	// Heard is called with each piece of the answer's body, and MUST NOT keep it.
	Heard(piece []byte)
	// Ended is called once, when the body is closed.
	Ended()
}

// Abandon gives the answer up without reading the rest of it. It may be called more than once.
func (x *Exchange) Abandon() { x.body.abandon() }

// Release returns when the request's body is read no more. It closes the connection of an answer whose body was not closed, which a
// panic may leave open, and calls no Listener. It may be called more than once.
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

// Error says how an exchange failed, and why.
type Error struct {
	Failure Failure
	Err     error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// explain tells which failure an error is. sent: a byte of the request has left.
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
