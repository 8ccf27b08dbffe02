package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"sluice/cache"
	"sluice/gateway/accounts"
	"sluice/gateway/dialect"
	"sluice/gateway/refusal"
	"sluice/gateway/tasks"
	"sluice/gateway/turn"
	"sluice/gateway/upstream"
	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/policy/account"
	"sluice/policy/forms"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// drainTime is how long the gateway continues to read an answer after its client has left.
const drainTime = 30 * time.Second

// service sends requests to the service: those of teams through the ReverseProxy, and task queries and cancels, which are small,
// through do.
type service struct {
	config  *Config
	deps    *Deps
	live    *live
	alarms  *telemetry.Alarms
	headers *headers
	lease   time.Duration // of a request's hold
}

// poolConfig returns the settings for the accounts at the service and their connections.
func poolConfig(c *Config, d *Deps, queue *turn.Queue) accounts.Config {
	return accounts.Config{
		Base: c.UpstreamURL, Shared: d.Cooling, Luck: c.luck, Now: d.Now, Logger: d.Logger, Back: queue.Back,
		Client: upstream.Config{
			Tunnel: c.Tunnel, ConnectTimeout: c.ConnectTimeout, HeaderTimeout: c.HeaderTimeout, IdleTimeout: c.IdleTimeout,
			Keep: wire.AnswerNames, DrainTime: drainTime, PulseTime: dialect.PingTime, Now: d.Now, Surplus: d.Metrics.Surplus,
		},
	}
}

// outbound fills in a request to the request's account at the service, and begins its exchange. The header is made from scratch.
func (u *service) outbound(out *http.Request, s *requestState) {
	s.way = s.attempt.Way()
	out.URL, out.Host = s.target(), ""
	out.Header = u.headers.outbound(s, s.way.Authorization())
	out.Body, out.GetBody, out.ContentLength = http.NoBody, nil, int64(len(s.body))
	if len(s.body) > 0 {
		body := s.body
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		out.Body, _ = out.GetBody()
	}
	x := s.exchange
	x.Sent, x.Client, x.Uncut, x.Listener, x.Pulse = u.deps.Now(), s.client, s.creates || s.repeats != nil, s, s.pulse
	if s.route.query {
		x.Limit = tasks.QueryTime
	}
	s.clientSpan.Begin(u.deps.Traces, u.deps.Metrics, u.spanInfo(s), x.Sent)
	if parent := s.clientSpan.SentTraceparent(); parent != "" {
		out.Header["Traceparent"] = s.values.One(parent)
	}
}

// target is the URL at the service. It is made from the route, never from the client's path; only a forwarded path's rest and
// query are sent unchanged.
func (s *requestState) target() *url.URL {
	switch {
	case s.path != "":
		return s.way.Base().JoinPath(s.path)
	case !s.route.prefix:
		return s.way.Target(s.route.path)
	}
	u := *s.way.Base()
	u.RawPath = u.EscapedPath() + "/" + s.rest
	u.Path, _ = url.PathUnescape(u.RawPath) // routes has unescaped it already
	u.RawQuery = s.query
	return &u
}

// receive turns the service's answer into one that a team may see, or refuses it. watch gets the pieces of a stream before they
// leave; it may be nil.
func (u *service) receive(answer *http.Response, s *requestState, watch func(piece []byte)) error {
	secrets := u.live.pool.Secrets()
	secrets.CoverHeader(answer.Header, wire.InboundNames[:])
	s.UpstreamID = wire.First(answer.Header["X-Request-Id"])
	if err := refusal.OfAnswer(answer, s.retryAfter); err != nil {
		s.fault = refusal.As(err).Name
		s.exchange.Abandon()
		return err
	}
	wire.Inbound(answer.Header)
	s.values.SetLength(answer)
	switch {
	case answer.StatusCode >= http.StatusBadRequest: // read whole, because its text may quote the key or name the service's hosts
		text, err := readWhole(answer)
		if err != nil {
			return err
		}
		secrets.Redact(text)
		s.values.SetRetry(answer.StatusCode, account.Patience(s.reading.ErrorCode), answer.Header)
	case wire.IsStream(answer.Header):
		answer.Body = upstream.NewStream(answer.Body, secrets, watch)
	}
	return nil
}

// failed notes that an exchange failed, and returns the error for the client.
func (u *service) failed(s *requestState, err error) error {
	x := s.exchange
	if x.Arrived.IsZero() { // the proxy failed before the round trip
		return refusal.New(refusal.Body).Say("The request's header Upgrade cannot be read.").Because(err)
	}
	if s.UpstreamStatus == 0 {
		s.clientSpan.End(telemetry.Result{Fault: refusal.As(err).Name}, x.Arrived)
	}
	return err
}

// do sends a small request about a task to the account that made the task, and reads the answer whole.
func (u *service) do(s *requestState, claim *cache.Claim, method, path string) (answer, error) {
	maker := u.live.pool.Of(claim.Account)
	if maker == nil {
		return answer{}, refusal.New(refusal.Unreachable).Say("The task's account at the service is not known to this gateway any more; the " +
			"request was not sent.")
	}
	s.use(u.live.pool.Asks(maker))
	out := (&http.Request{Method: method, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(s.exchangeContext())
	s.path = path
	u.outbound(out, s)
	got, err := u.try(out, s)
	if err != nil {
		return answer{}, u.failed(s, err)
	}
	if err = u.receive(got, s, nil); err != nil {
		return answer{}, err
	}
	body, err := readWhole(got)
	if err != nil {
		return answer{}, err
	}
	u.live.pool.Secrets().RedactKeys(body) // a failed task is reported with status 200
	return answer{status: got.StatusCode, header: got.Header, body: body}, nil
}

// The routes of requests about tasks that the gateway makes by itself.
var (
	queryRoute  = &route{method: get, path: "tasks/{id}", endpoint: policy.EndpointTasks, query: true}
	cancelRoute = &route{method: post, path: "tasks/{id}/cancel", endpoint: policy.EndpointTasks}
)

// queryTask queries the service about a task. The answer may serve several polls, or none.
func (u *service) queryTask(claim *cache.Claim, by tasks.Origin) (tasks.Reply, error) {
	s := u.ownRequest(context.Background(), queryRoute, claim)
	s.finisher, s.Span = by.Finisher, by.Span
	got, err := u.do(s, claim, get, "tasks/"+claim.Task)
	return tasks.Reply{Status: s.UpstreamStatus, UpstreamID: s.UpstreamID, Body: got.body}, err
}

// wholeAnswer bounds the answers that are read whole: task answers and errors. The service's are a few KB.
const wholeAnswer = 4 << 20

// readWhole reads an answer into memory and gives it a body that can be read again.
func readWhole(answer *http.Response) ([]byte, error) {
	defer func(b io.Closer) { _ = b.Close() }(answer.Body)
	text, err := io.ReadAll(io.LimitReader(answer.Body, wholeAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(text) > wholeAnswer {
		return nil, refusal.New(refusal.Answer).Say("The service's answer was too long.")
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	new(wire.Values).SetLength(answer)
	return text, nil
}

// cancelTask asks the service to cancel a task, without a client's request.
func (u *service) cancelTask(ctx context.Context, claim *cache.Claim) (answer, error) {
	return u.do(u.ownRequest(ctx, cancelRoute, claim), claim, post, "tasks/"+claim.Task+"/cancel")
}

// ownRequest is a request about a task that the gateway makes by itself.
func (u *service) ownRequest(ctx context.Context, to *route, claim *cache.Claim) *requestState {
	s := &requestState{
		service: u, match: match{route: to}, client: ctx, method: to.method, creation: claim.Trace,
		exchange: new(upstream.Exchange), room: new(room),
	}
	s.Team, s.Task, s.Model, s.Label = claim.Team, claim.Task, claim.Model, u.live.label(claim.Model)
	return s
}

var meters = sync.Pool{New: func() any { return new(meter.Meter) }}

// spanInfo describes the exchange of a request for its span and metrics.
func (u *service) spanInfo(s *requestState) telemetry.SpanInfo {
	info := telemetry.SpanInfo{
		Operation: s.operation(), Model: s.Model, Label: s.Label, Team: s.Team, Task: s.Task, Stream: s.stream,
		Account: s.attempt.Shown(), Parent: s.Span, Root: s.finisher, Creation: s.creation, Parameters: s.parameters,
	}
	if info.Operation == telemetry.OperationNone {
		info.Name = s.method + " " + s.route.path
	}
	if u.deps.Traces != nil {
		info.Secrets, info.Address = u.live.pool, s.way.Base()
	}
	return info
}

func (s *requestState) operation() string {
	switch policy.Kind(s.Kind) {
	case policy.KindText, policy.KindChat:
		return telemetry.OperationChat
	case policy.KindEmbeddings:
		return telemetry.OperationEmbed
	case policy.KindOther:
		switch {
		case s.Model == "":
			return telemetry.OperationNone
		case s.route.reads != forms.Native:
			return telemetry.OperationChat
		}
	case "":
		if s.method == get && s.route.endpoint == policy.EndpointTasks {
			return telemetry.OperationFetch
		}
		return telemetry.OperationNone
	}
	return telemetry.OperationGenerate
}
