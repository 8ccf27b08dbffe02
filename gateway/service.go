package gateway

import (
	"context"
	"net/http"
	"time"

	"sluice/cache"
	"sluice/gateway/tasks"
	"sluice/gateway/upstream"
	"sluice/policy"
	"sluice/telemetry"
)

// drainTime is how long the gateway goes on reading an answer after its client has left.
const drainTime = 30 * time.Second

// service is the way to the service for requests of teams. The ReverseProxy uses it as its transport; task queries and
// cancels, which are small and whole, use do.
type service struct {
	config  *Config
	deps    *Deps
	live    *live
	alarms  *alarms
	headers *headers
	claims  *claims
	client  *upstream.Client
	lease   time.Duration // of a request's hold
}

func (u *service) clientConfig() upstream.Config {
	return upstream.Config{
		URL: u.config.UpstreamURL, ConnectTimeout: u.config.ConnectTimeout, HeaderTimeout: u.config.HeaderTimeout, IdleTimeout: u.config.IdleTimeout,
		Keep: answerNames, DrainTime: drainTime, Now: u.deps.Now, Surplus: u.deps.Metrics.Surplus,
	}
}

// RoundTrip sends a request and returns an answer that a team may see. Its body ends within bounds. RoundTrip differs from
// the contract of http.RoundTripper in two ways: it sends the body that the request's state has in memory, and it ignores the
// end of the request's context, because the service charges for the work whether or not the client stays.
func (u *service) RoundTrip(out *http.Request) (*http.Response, error) {
	s := stateOf(out.Context())
	x := s.exchange
	x.Body, x.Sent, x.Client, x.Uncut, x.Listener = s.body, u.deps.Now(), s.client, s.creates || s.repeats != nil, s
	if s.route.query {
		x.Limit = tasks.QueryTime
	}
	s.clientSpan.Begin(u.deps.Traces, u.deps.Metrics, u.spanInfo(s), x.Sent)
	if parent := s.clientSpan.SentTraceparent(); parent != "" {
		s.room.outbound.set("Traceparent", parent)
	}
	x.Header = s.room.outbound
	answer, err := u.client.Do(out, x)
	if err != nil {
		s.clientSpan.End(telemetry.Result{Fault: asRefusal(err).name}, x.Arrived)
		return nil, err
	}
	s.UpstreamStatus = answer.StatusCode
	u.live.key.Load().CoverHeader(answer.Header, inboundNames[:])
	s.UpstreamID = first(answer.Header["X-Request-Id"])
	kept, err := u.filterAnswer(answer, s)
	if err == nil {
		s.handOver(kept)
	}
	return kept, err
}

// handOver puts the header of an answer into the client's. The proxy would copy each value. It needs the header of a stream
// itself, to see that it is one.
func (s *requestState) handOver(kept *http.Response) {
	if s.out == nil || isStream(kept.Header) {
		return
	}
	for name, values := range kept.Header {
		s.out[name] = values
	}
	kept.Header = nil
}

// do makes a small request without a body and reads its answer whole.
func (u *service) do(s *requestState, method, path string) (answer, error) {
	target := u.config.UpstreamURL.JoinPath(path)
	u.outbound(s)
	out := &http.Request{Method: method, URL: target, Host: target.Host, Body: http.NoBody, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	got, err := u.RoundTrip(out.WithContext(&s.room.context))
	if err != nil {
		return answer{}, err
	}
	body, err := readWhole(got)
	if err != nil {
		return answer{}, err
	}
	u.live.key.Load().RedactKeys(body) // a failed task is reported with status 200
	return answer{status: got.StatusCode, header: got.Header, body: body}, nil
}

// outbound makes the header of a request to the service, with the key.
func (u *service) outbound(s *requestState) {
	u.headers.outbound(&s.room.outbound, s, u.live.key.Load().Authorization())
}

// queryRoute is the route of a task query that no client's request makes.
var queryRoute = &route{method: get, path: "tasks/{id}", endpoint: policy.EndpointTasks, query: true}

// queryTask queries the service about a task. The answer may serve several polls, or none.
func (u *service) queryTask(claim *cache.Claim, by tasks.Origin) (tasks.Reply, error) {
	s := &requestState{
		service: u, match: match{route: queryRoute}, client: context.Background(), method: get, finisher: by.Finisher, creation: claim.Trace,
		exchange: new(upstream.Exchange), room: new(room),
	}
	s.room.prepare(s, s.client)
	s.Team, s.Task, s.Model, s.Label, s.Span = claim.Team, claim.Task, claim.Model, u.live.label(claim.Model), by.Span
	got, err := u.do(s, get, "tasks/"+claim.Task)
	return tasks.Reply{Status: s.UpstreamStatus, UpstreamID: s.UpstreamID, Body: got.body}, err
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
