// Package upstream exchanges requests and answers with the service. It keeps the connections, writes requests, reads answers,
// and covers the service's key and address in them.
//
// It knows nothing of teams, tasks or limits; a [Listener] follows an exchange for the caller. It promises that no request is
// sent again once a byte of it has left, and that every exchange ends within its bounds.
package upstream

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Config has the operator's settings for the way to the service. Every field is required unless it says otherwise.
type Config struct {
	URL *url.URL // scheme and host of the service

	ConnectTimeout time.Duration // to connect, TLS included
	HeaderTimeout  time.Duration // from the request's last byte to the answer's header
	IdleTimeout    time.Duration // silence inside an answer, and while the service takes a request
	DrainTime      time.Duration // to read the rest of an answer whose client has left

	Keep    []string         // the headers of answers that are needed, in canonical form; others may be missing; nil: all are needed
	Roots   *x509.CertPool   // authorities for the service's certificate; nil: the system's
	Now     func() time.Time // the clock
	Surplus func()           // called for each connection on which the service sent unrequested bytes
}

// Client is the one way to the service. It is safe for concurrent use.
type Client struct {
	config Config
	pool   *pool
}

// New builds a Client. It connects to nothing.
func New(config Config) *Client { return &Client{config: config, pool: newPool(&config)} }

// Close closes the idle connections. It leaves running exchanges alone.
func (u *Client) Close() { u.pool.close() }

// RoundTrip implements [http.RoundTripper]: it sends a request and returns the answer once its header is there. The answer's body ends
// within bounds; trailers are dropped. An error is an [*Error]. A body needs its length, and the request the service's address: the
// key in its header is for no other host. The end of the request's context ends the exchange at once.
//
// If no byte of the request has left, RoundTrip tries once more on a new connection; a body that was read needs GetBody for that. After
// a byte has left it never sends again: the service may already be at work.
func (u *Client) RoundTrip(out *http.Request) (*http.Response, error) {
	x, body := u.exchangeOf(out), bodyOf(out)
	if err := u.refuse(out, body); err != nil {
		body.close()
		return nil, explain(err, false)
	}
	conn, err := u.pool.get(out.Context(), x.Sent)
	answer, sent, err := u.try(conn, err, out, body, x)
	if err != nil && !sent && !isTimeout(err) && out.Context().Err() == nil {
		if body, err = body.again(out, err); err == nil {
			conn, err = u.pool.dial(out.Context())
			answer, sent, err = u.try(conn, err, out, body, x)
		}
	}
	x.Reached = x.Reached || sent || err == nil
	x.Arrived = u.config.Now()
	x.Waited += x.Arrived.Sub(x.Sent)
	if err != nil {
		body.close()
		return nil, explain(err, sent)
	}
	return answer, nil
}

// refuse tells why a request cannot be sent at all; nil: it can.
func (u *Client) refuse(out *http.Request, body *outgoing) error {
	switch {
	case out.URL == nil || out.URL.Host != u.config.URL.Host || out.URL.Scheme != u.config.URL.Scheme:
		return errOtherHost
	case body.size() < 0:
		return errNoLength
	}
	return context.Cause(out.Context())
}

// try makes one attempt on a connection, unless err says that there is none. sent: a byte of the request has left.
func (u *Client) try(conn *conn, err error, out *http.Request, body *outgoing, x *Exchange) (answer *http.Response, sent bool, _ error) {
	if err != nil {
		return nil, false, err
	}
	var stay func() bool // ends the watch over the request's context
	if ctx := out.Context(); ctx.Done() != nil {
		stay = context.AfterFunc(ctx, func() { _ = conn.Close() })
	}
	if err = conn.send(x, out, body, u.headerTime(x)); err == nil {
		answer, err = conn.receive(x, out, u.config.Keep)
	}
	if err != nil {
		if stay != nil && !stay() {
			err = context.Cause(out.Context())
		}
		sent = conn.written.Load() > 0
		conn.drop() // its state is unknown
		return nil, sent, err
	}
	x.body.begin(u, x, conn, answer)
	x.body.stay = stay
	answer.Body = &x.body
	return answer, true, nil
}

// headerTime is how long the service may take to begin its answer.
func (u *Client) headerTime(x *Exchange) time.Duration {
	if x.Limit > 0 {
		return min(u.config.HeaderTimeout, x.Limit)
	}
	return u.config.HeaderTimeout
}

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
