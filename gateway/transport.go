package gateway

import (
	"errors"
	"net/http"

	"sluice/gateway/tasks"
	"sluice/gateway/upstream"
	"sluice/telemetry"
)

// transport is the one way to the service. The ReverseProxy uses it; task queries and cancellations, which are small and
// whole, use do.
type transport struct {
	gateway *Gateway
	client  *upstream.Client
}

func newTransport(g *Gateway, config upstream.Config) *transport {
	return &transport{gateway: g, client: upstream.New(config)}
}

// upstreamConfig is the part of the settings that the way to the service follows.
func (g *Gateway) upstreamConfig() upstream.Config {
	return upstream.Config{
		URL: g.config.UpstreamURL, ConnectTimeout: g.config.ConnectTimeout, HeaderTimeout: g.config.HeaderTimeout, IdleTimeout: g.config.IdleTimeout, DrainTime: drainTime,
		Now: g.deps.Now, Surplus: g.deps.Metrics.Surplus,
	}
}

// RoundTrip sends a request and returns an answer whose header is fit for a team and whose body ends within bounds. Its
// errors are refusals. It keeps the contract of http.RoundTripper but for two things: the body is the call's, which is
// in memory, and the request's context does not end it, because a client that leaves must not abort what is paid for.
func (u *transport) RoundTrip(out *http.Request) (*http.Response, error) {
	c := callOf(out.Context())
	x := &c.exchange
	x.Body, x.Sent, x.Client, x.Uncut, x.Listener = c.body, u.gateway.deps.Now(), c.client, c.creates, c
	if c.route == u.gateway.poll { // a look at a task is short, however its bytes come
		x.Limit = tasks.QueryTime
	}
	c.clientSpan.Begin(u.gateway.deps.Traces, u.gateway.deps.Metrics, u.gateway.about(c), x.Sent)
	if parent := c.clientSpan.SentTraceparent(); parent != "" {
		out.Header["Traceparent"] = []string{parent}
	}
	answer, err := u.client.Do(out, x)
	if err != nil {
		c.clientSpan.End(telemetry.Result{Fault: asRefusal(err).name}, x.Arrived)
		return nil, err
	}
	c.UpstreamStatus = answer.StatusCode
	u.gateway.upstreamKey.Load().CoverHeader(answer.Header, inboundNames[:])
	c.UpstreamID = first(answer.Header["X-Request-Id"])
	return u.admissible(answer, c)
}

// do makes a small request without a body and reads its answer whole.
func (u *transport) do(c *call, method, path string) (answer, error) {
	target := u.gateway.config.UpstreamURL.JoinPath(path)
	out := &http.Request{Method: method, URL: target, Host: target.Host, Header: u.gateway.outbound(c), Body: http.NoBody, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	got, err := u.RoundTrip(out.WithContext(c.attach(out.Context())))
	if err != nil {
		return answer{}, err
	}
	body, err := readWhole(got)
	if err != nil {
		return answer{}, err
	}
	u.gateway.upstreamKey.Load().RedactKeys(body) // that a task failed is told with a status of 200
	return answer{status: got.StatusCode, header: got.Header, body: body}, nil
}

// refuseExchange says what is known of an exchange that failed: nothing was sent, upstream is silent, or its answer is broken.
func refuseExchange(err *upstream.Error) *refusal {
	switch err.Failure {
	case upstream.Unreachable:
		return refuse(refuseUnreachable).say("The service could not be reached; the request was not sent.").because(err)
	case upstream.Silent:
		return refuse(refuseSilent).say("The service did not answer in time; whether it ran the request is unknown.").because(err)
	default:
		return refuse(refuseAnswer).say("The service's answer was lost; whether it ran the request is unknown.").because(err)
	}
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

var (
	errUpgraded   = errors.New("upstream switched protocols")
	errRedirected = errors.New("upstream answered with a redirect")
	errEncoded    = errors.New("upstream compressed an answer it was asked not to")
	errOurKey     = errors.New("upstream refused the gateway's own key")
)
