package gateway

import (
	"errors"
	"net"
	"net/http"
	"time"

	"sluice/telemetry"
)

// upstream is the one way to the service. The ReverseProxy uses it as its transport; task queries and cancellations,
// which are small and whole, use do.
type upstream struct {
	gateway *Gateway
	pool    *pool
}

func newUpstream(g *Gateway) *upstream {
	return &upstream{gateway: g, pool: newPool(&g.Config, &g.Deps)}
}

var (
	errUpgraded   = errors.New("upstream switched protocols")
	errRedirected = errors.New("upstream answered with a redirect")
	errEncoded    = errors.New("upstream compressed an answer it was asked not to")
	errOurKey     = errors.New("upstream refused the gateway's own key")
)

// RoundTrip sends a request and returns an answer whose header is fit for a team and whose body ends within bounds. Its
// errors are refusals. It keeps the contract of http.RoundTripper but for two things: the body is the call's, which is
// in memory, and the request's context does not end it, because a client that leaves must not abort what is paid for.
func (u *upstream) RoundTrip(out *http.Request) (*http.Response, error) {
	c := callOf(out.Context())
	sent := u.gateway.Now()
	c.exchange.Begin(u.gateway.Traces, u.gateway.Metrics, u.gateway.about(c), sent)
	if parent := c.exchange.SentTraceparent(); parent != "" {
		out.Header["Traceparent"] = []string{parent}
	}
	answer, err := u.exchange(out, c, sent)
	arrived := u.gateway.Now()
	c.waited += arrived.Sub(sent)
	if err != nil {
		c.exchange.End(telemetry.Result{Fault: asRefusal(err).name}, arrived)
		return nil, err
	}
	answer.Body.(*answerBody).arrived = arrived
	c.UpstreamStatus = answer.StatusCode
	u.gateway.upstreamKey.Load().coverHeader(answer.Header)
	c.UpstreamID = first(answer.Header["X-Request-Id"])
	return u.admissible(answer, c)
}

// exchange makes the exchange, and once more on a new connection where not a byte of the request had left. After a byte
// nothing is ever sent again, since upstream knows no idempotency and may already be at work.
func (u *upstream) exchange(out *http.Request, c *call, now time.Time) (*http.Response, error) {
	conn, err := u.pool.get(now)
	answer, sent, err := u.try(conn, err, out, c)
	if err != nil && !sent && !isTimeout(err) {
		conn, err = u.pool.dial()
		answer, sent, err = u.try(conn, err, out, c)
	}
	c.reached = c.reached || sent || err == nil
	if err != nil {
		return nil, explain(err, sent)
	}
	return answer, nil
}

// try makes one attempt on a connection, unless there is none, and tells whether a byte of the request has left.
func (u *upstream) try(conn *conn, err error, out *http.Request, c *call) (answer *http.Response, sent bool, _ error) {
	if err != nil {
		return nil, false, err
	}
	if err = conn.send(u.gateway, c, out, u.headerTime(c)); err == nil {
		answer, err = conn.receive(out)
	}
	if err != nil {
		sent = conn.written.Load() > 0
		_ = conn.Close() // its state is unknown
		return nil, sent, err
	}
	answer.Body = newAnswerBody(u.gateway, c, conn, answer)
	return answer, true, nil
}

// headerTime is how long upstream may take to begin its answer. A task query is a look, not work.
func (u *upstream) headerTime(c *call) time.Duration {
	if c.route == u.gateway.poll {
		return min(u.gateway.HeaderTimeout, queryTime)
	}
	return u.gateway.HeaderTimeout
}

// explain says what is known of an exchange that failed: nothing was sent, upstream is silent, or its answer is broken.
func explain(err error, sent bool) error {
	switch {
	case !sent:
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

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
