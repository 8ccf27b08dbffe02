// Package upstream exchanges requests and answers with the service. It keeps the connections, writes requests, reads answers,
// and covers the service's key and address in them. A [Fetcher] downloads pictures from listed hosts.
//
// It knows nothing of teams, tasks or limits; a [Listener] follows an exchange for the caller. It promises that no request is
// sent again once a byte of it has left, and that every exchange ends within its bounds.
package upstream

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Client sends requests to the service. It is safe for concurrent use.
type Client struct {
	config *Config
	pool   *pool
}

// New builds a Client. It connects to nothing.
func New(config Config) *Client { return &Client{config: &config, pool: newPool(&config)} }

// Close closes the idle connections. It does not affect running exchanges.
func (u *Client) Close() { u.pool.close() }

// RoundTrip implements [http.RoundTripper]: it sends a request and returns the answer once its header has arrived. The answer's body
// ends within bounds; trailers are dropped. An error is an [*Error]. A body needs its length, and the request must be for the
// service, because the key in its header is for no other host. The end of the request's context ends the exchange immediately.
//
// If no byte of the request has left, RoundTrip tries once more on a new connection, for which a body that was read needs GetBody. Once
// a byte has left it never sends again: the service may be at work.
func (u *Client) RoundTrip(out *http.Request) (*http.Response, error) {
	x, body := u.exchangeOf(out), bodyOf(out)
	if err := u.refuse(out, body); err != nil {
		body.close()
		return nil, explain(err, false)
	}
	connecting, connected := x.begin(out.Context())
	defer connected()
	conn, err := u.pool.get(connecting, x.Sent)
	answer, sent, err := u.try(conn, err, out, body, x)
	if err != nil && !sent && !isTimeout(err) && out.Context().Err() == nil {
		if body, err = body.again(out, err); err == nil {
			conn, err = u.pool.dial(connecting)
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

// refuse returns why a request cannot be sent at all; nil: it can.
func (u *Client) refuse(out *http.Request, body *outgoing) error {
	switch {
	case out.URL == nil || out.URL.Host != u.config.URL.Host || out.URL.Scheme != u.config.URL.Scheme:
		return errOtherHost
	case body.size() < 0:
		return errNoLength
	}
	return context.Cause(out.Context())
}

// try makes one attempt on a connection, unless getting one failed with err. sent: a byte of the request has left.
func (u *Client) try(conn *conn, err error, out *http.Request, body *outgoing, x *Exchange) (answer *http.Response, sent bool, _ error) {
	if err != nil {
		return nil, false, err
	}
	var stay func() bool // ends the watch over the request's context
	if ctx := out.Context(); ctx.Done() != nil {
		stay = context.AfterFunc(ctx, func() { _ = conn.Close() })
	}
	bound := u.config.HeaderTimeout // for the service to begin its answer
	if x.Limit > 0 {
		bound = min(bound, x.Limit-conn.taken.Sub(x.Sent))
	}
	if err = conn.send(x, out, body, bound); err == nil {
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
	x.body.begin(x, conn, answer)
	x.body.stay = stay
	answer.Body = &x.body
	return answer, true, nil
}

// exchangeOf returns the exchange that follows a request, or one that will be discarded.
func (u *Client) exchangeOf(out *http.Request) *Exchange {
	if x, ok := out.Context().Value(exchangeKey{}).(*Exchange); ok {
		return x
	}
	return &Exchange{Sent: u.config.Now(), Client: context.Background(), Listener: noListener{}}
}

// longestRetryAfter bounds what an answer may ask for: the service's quotas reset each day.
const longestRetryAfter = 24 * time.Hour

// RetryAfter returns the wait that an answer asks for, in seconds or until a time, at most a day; 0: none. Fractions of a second, which
// the standard does not have, are rounded up.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if text == "" {
		return 0
	}
	if seconds, ok := roundedUp(text); ok {
		return time.Duration(min(seconds, uint64(longestRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), longestRetryAfter)
	}
	return 0
}

// roundedUp reads a decimal number without sign, at most 2^31.
func roundedUp(text string) (n uint64, ok bool) {
	whole, part, _ := strings.Cut(text, ".")
	if whole == "" || strings.Trim(whole+part, "0123456789") != "" {
		return 0, false
	}
	n, _ = strconv.ParseUint(whole, 10, 31) // the largest, if it is larger
	if strings.Trim(part, "0") != "" {
		n++
	}
	return n, true
}
