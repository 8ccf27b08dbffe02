package upstream

import (
	"crypto/x509"
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

// Do sends a request and returns the answer once its header is there. The answer's body ends within bounds, and MUST be closed.
// An error is an [*Error]. Do sends the exchange's header and body, not the request's. The body is read until Do has failed or the
// answer's body is closed. Do ignores the end of the request's context: the service charges for the work whether or not the client
// stays.
//
// If no byte of the request has left, Do tries once more on a new connection. After a byte has left it never sends again: the
// service may already be at work.
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

// try makes one attempt on a connection, unless err says that there is none. sent: a byte of the request has left.
func (u *Client) try(conn *conn, err error, out *http.Request, x *Exchange) (answer *http.Response, sent bool, _ error) {
	if err != nil {
		return nil, false, err
	}
	if err = conn.send(x, out, u.headerTime(x)); err == nil {
		answer, err = conn.receive(x, out, u.config.Keep)
	}
	if err != nil {
		sent = conn.written.Load() > 0
		conn.drop() // its state is unknown
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
