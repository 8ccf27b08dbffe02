package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
)

// upstream is the one way to the service. The ReverseProxy uses it as its transport; task queries and cancellations,
// which are small and whole, use do.
type upstream struct {
	gateway   *Gateway
	transport *http.Transport
}

func newUpstream(g *Gateway) *upstream {
	return &upstream{gateway: g, transport: newTransport(&g.Config)}
}

var (
	errUpgraded   = errors.New("upstream switched protocols")
	errRedirected = errors.New("upstream answered with a redirect")
	errEncoded    = errors.New("upstream compressed an answer it was asked not to")
	errOurKey     = errors.New("upstream refused the gateway's own key")
	errSilence    = errors.New("upstream fell silent inside an answer")
)

// RoundTrip sends a request and returns an answer whose header is fit for a team and whose body ends within bounds. Its
// errors are refusals. It keeps the contract of http.RoundTripper but for one thing: the request's own context does not
// end it, because a client that leaves must not abort what is paid for.
func (u *upstream) RoundTrip(out *http.Request) (*http.Response, error) {
	c := callOf(out.Context())
	sent := u.gateway.Now()
	answer, err := u.send(out, c)
	c.waited += u.gateway.Now().Sub(sent)
	if err != nil {
		return nil, err
	}
	c.UpstreamStatus = answer.StatusCode
	c.UpstreamID = first(answer.Header["X-Request-Id"])
	return u.admissible(answer, c)
}

// send makes the exchange, and once more on a new connection where not a byte of the request had left: the body is in
// memory. After a byte nothing is ever sent again, since upstream knows no idempotency and may already be at work.
func (u *upstream) send(out *http.Request, c *call) (*http.Response, error) {
	e := newExchange(u.gateway)
	answer, err := e.try(u.transport, out)
	if err != nil && !e.sent() && !isTimeout(err) {
		e.stop()
		u.transport.CloseIdleConnections() // where one had died unseen, the others have too
		e = newExchange(u.gateway)
		out.Body = bodyReader(c.body)
		answer, err = e.try(u.transport, out)
	}
	if err != nil {
		e.stop()
		return nil, e.explain(err)
	}
	answer.Body = &answerBody{ReadCloser: answer.Body, exchange: e, call: c}
	return answer, nil
}

// exchange is one attempt, with a context of its own: neither the client's leaving nor the ReverseProxy's hooks (which
// would relay upstream's informational answers) reach into it.
type exchange struct {
	gateway *Gateway
	cancel  context.CancelCauseFunc
	ctx     context.Context
	trace   httptrace.ClientTrace
	conn    *conn
	before  int64 // bytes written on conn by earlier requests
}

func newExchange(g *Gateway) *exchange {
	e := &exchange{gateway: g}
	ctx, cancel := context.WithCancelCause(context.Background())
	e.cancel = cancel
	e.trace.GotConn = e.gotConn
	e.trace.Got1xxResponse = drop1xx // a hook of ours also lifts the transport's bound on their number
	e.ctx = httptrace.WithClientTrace(ctx, &e.trace)
	return e
}

func (e *exchange) gotConn(info httptrace.GotConnInfo) {
	if c, ok := info.Conn.(*conn); ok {
		e.conn, e.before = c, c.written.Load()
	}
}

func drop1xx(int, textproto.MIMEHeader) error { return nil }

func (e *exchange) try(transport http.RoundTripper, out *http.Request) (*http.Response, error) {
	return transport.RoundTrip(out.WithContext(e.ctx))
}

// sent reports whether a byte of the request has left.
func (e *exchange) sent() bool { return e.conn != nil && e.conn.written.Load() > e.before }

// stop ends the exchange and frees what it holds. Stopping an exchange that has ended changes nothing.
func (e *exchange) stop() { e.cancel(nil) }

// explain says what is known of an exchange that failed: nothing was sent, upstream is silent, or its answer is broken.
func (e *exchange) explain(err error) error {
	switch {
	case !e.sent():
		return refuse(refuseUnreachable).say("The service could not be reached; the request was not sent.").because(err)
	case isTimeout(err):
		return refuse(refuseSilent).say("The service did not answer in time; whether it ran the request is unknown.").because(err)
	default:
		return refuse(refuseAnswer).say("The service's answer was lost; whether it ran the request is unknown.").because(err)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// bodyReader hands a body over in memory. net/http recognises the type and sends header and body in one write.
func bodyReader(body []byte) io.ReadCloser {
	if len(body) == 0 {
		return http.NoBody
	}
	return io.NopCloser(bytes.NewReader(body))
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
