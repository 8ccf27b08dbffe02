package upstream

import (
	"crypto/x509"
	"net/http"
	"net/url"
	"time"
)

// Config is what the operator set for the way to the service. Every field is required unless it says otherwise.
type Config struct {
	URL *url.URL // scheme and host of the service

	ConnectTimeout time.Duration // to connect, TLS included
	HeaderTimeout  time.Duration // from the request's last byte to the answer's header
	IdleTimeout    time.Duration // silence inside an answer, and while the service takes a request
	DrainTime      time.Duration // to read the rest of an answer whose client has left

	Roots   *x509.CertPool   // that the service's certificate must descend from; nil: the system's
	Now     func() time.Time // the clock
	Surplus func()           // called for each connection on which the service sent what it was not asked
}

// Client is the one way to the service. It is safe for concurrent use.
type Client struct {
	config Config
	pool   *pool
}

// New builds a Client. It connects to nothing.
func New(config Config) *Client { return &Client{config: config, pool: newPool(&config)} }

// Close frees the idle connections. Exchanges that run are not touched.
func (u *Client) Close() { u.pool.close() }

// Do sends a request and returns the answer once its header is there; the answer's body ends within bounds, and MUST be closed.
// An error is an [*Error]. The request's body is the exchange's, and its context is not heeded: a client that leaves must not
// abort what is paid for.
//
// Where not a byte of the request had left, Do tries once more on a new connection. After a byte nothing is ever sent again,
// since the service knows no idempotency and may already be at work.
func (u *Client) Do(out *http.Request, x *Exchange) (*http.Response, error) {
	conn, err := u.pool.get(x.Sent)
	answer, sent, err := u.try(conn, err, out, x)
	if err != nil && !sent && !isTimeout(err) {
		conn, err = u.pool.dial()
		answer, sent, err = u.try(conn, err, out, x)
	}
	x.Reached = x.Reached || sent || err == nil
	x.Arrived = u.config.Now()
	x.Waited += x.Arrived.Sub(x.Sent)
	if err != nil {
		return nil, explain(err, sent)
	}
	return answer, nil
}

// try makes one attempt on a connection, unless there is none, and tells whether a byte of the request has left.
func (u *Client) try(conn *conn, err error, out *http.Request, x *Exchange) (answer *http.Response, sent bool, _ error) {
	if err != nil {
		return nil, false, err
	}
	if err = conn.send(x, out, u.headerTime(x)); err == nil {
		answer, err = conn.receive(out)
	}
	if err != nil {
		sent = conn.written.Load() > 0
		_ = conn.Close() // its state is unknown
		return nil, sent, err
	}
	x.body.begin(u, x, conn, answer)
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
