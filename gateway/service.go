package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"sluice/cache"
	"sluice/gateway/tasks"
	"sluice/gateway/upstream"
	"sluice/policy"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// drainTime is how long the gateway goes on reading an answer after its client has left.
const drainTime = 30 * time.Second

// service is the way to the service for requests of teams: through the ReverseProxy, or for task queries and cancels, which are small
// and whole, through do.
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

// outbound fills in a request to the service, and begins its exchange. The header is made from nothing.
func (u *service) outbound(out *http.Request, s *requestState) {
	out.Header = u.headers.outbound(s, u.live.key.Load().Authorization())
	out.Body, out.GetBody, out.ContentLength = http.NoBody, nil, int64(len(s.body))
	if len(s.body) > 0 {
		body := s.body
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		out.Body, _ = out.GetBody()
	}
	x := s.exchange
	x.Sent, x.Client, x.Uncut, x.Listener = u.deps.Now(), s.client, s.creates || s.repeats != nil, s
	if s.route.query {
		x.Limit = tasks.QueryTime
	}
	s.clientSpan.Begin(u.deps.Traces, u.deps.Metrics, u.spanInfo(s), x.Sent)
	if parent := s.clientSpan.SentTraceparent(); parent != "" {
		out.Header["Traceparent"] = s.values.one(parent)
	}
}

// receive makes of the service's answer one that a team may see, or refuses it. Its body ends within bounds.
func (u *service) receive(answer *http.Response, s *requestState) error {
	s.UpstreamStatus = answer.StatusCode
	u.live.key.Load().CoverHeader(answer.Header, inboundNames[:])
	s.UpstreamID = first(answer.Header["X-Request-Id"])
	return u.filterAnswer(answer, s)
}

// failed notes that an exchange failed, and returns the error for the client.
func (u *service) failed(s *requestState, err error) error {
	x := s.exchange
	if x.Arrived.IsZero() { // there was none
		return refuse(refuseBody).say("The request's header Upgrade cannot be read.").because(err)
	}
	if s.UpstreamStatus == 0 {
		s.clientSpan.End(telemetry.Result{Fault: asRefusal(err).name}, x.Arrived)
	}
	return err
}

// do makes a small request without a body and reads its answer whole.
func (u *service) do(s *requestState, method, path string) (answer, error) {
	target := u.config.UpstreamURL.JoinPath(path)
	out := (&http.Request{Method: method, URL: target, Host: target.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(s.exchangeContext())
	u.outbound(out, s)
	got, err := u.client.RoundTrip(out)
	if err != nil {
		return answer{}, u.failed(s, err)
	}
	if err = u.receive(got, s); err != nil {
		return answer{}, err
	}
	body, err := readWhole(got)
	if err != nil {
		return answer{}, err
	}
	u.live.key.Load().RedactKeys(body) // a failed task is reported with status 200
	return answer{status: got.StatusCode, header: got.Header, body: body}, nil
}

// queryRoute is the route of a task query that no client's request makes.
var queryRoute = &route{method: get, path: "tasks/{id}", endpoint: policy.EndpointTasks, query: true}

// queryTask queries the service about a task. The answer may serve several polls, or none.
func (u *service) queryTask(claim *cache.Claim, by tasks.Origin) (tasks.Reply, error) {
	s := &requestState{
		service: u, match: match{route: queryRoute}, client: context.Background(), method: get, finisher: by.Finisher, creation: claim.Trace,
		exchange: new(upstream.Exchange), room: new(room),
	}
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

// A request listens to its own exchange; see [upstream.Listener].

// Runs extends the lease of the request's hold once half of it has passed.
func (s *requestState) Runs(now time.Time) {
	if s.held == nil {
		return
	}
	last, lease := s.leased.Load(), s.service.lease
	switch {
	case last == 0:
		s.leased.Store(now.UnixNano())
	case now.UnixNano()-last > int64(lease/2) && s.leased.CompareAndSwap(last, now.UnixNano()):
		_ = s.service.deps.Accounts.Extend(context.WithoutCancel(s.client), s.held, lease) // the next one may succeed
	}
}

// Heard reads the usage in a piece of the answer, also if the client has left.
func (s *requestState) Heard(piece []byte) {
	if s.meter != nil {
		_, _ = s.meter.Write(piece) // it never fails
	}
	s.clientSpan.Arrived(piece, s.exchange.Arrived)
}

// Ended moves the usage to the Record and ends the exchange's span.
func (s *requestState) Ended() {
	x := s.exchange
	if x.Fault != nil {
		s.fault = asRefusal(x.Fault).name
		if x.Wanted {
			s.Refusal = s.fault // for the log: the header has left already
		}
	}
	ended := telemetry.Result{Status: s.UpstreamStatus, Fault: s.fault}
	if s.meter != nil {
		s.reading = s.meter.End()
		s.reading.Usage.Cover(s.service.live.cover)
		s.Usage = s.reading.Usage
		ended.Reading = &s.reading
		if s.reading.Failed {
			s.service.alarms.checkBilling(s.reading.ErrorCode)
		}
		meters.Put(s.meter)
		s.meter = nil
	}
	if s.creates && x.Whole && s.fault == "" {
		s.answered = x.Arrived
		return // it is not known yet whether the answer names a task; finish ends the span
	}
	s.clientSpan.End(ended, x.Arrived)
}

var meters = sync.Pool{New: func() any { return new(meter.Meter) }}

// measure starts reading the usage of the answer with this header.
func (s *requestState) measure(h http.Header) {
	s.meter = meters.Get().(*meter.Meter)
	s.meter.Reset(first(h["Content-Type"]), first(h["Content-Encoding"]))
}

// spanInfo describes the exchange of a request for its span and metrics.
func (u *service) spanInfo(s *requestState) telemetry.SpanInfo {
	info := telemetry.SpanInfo{
		Operation: s.operation(), Model: s.Model, Label: s.Label, Team: s.Team, Task: s.Task, Stream: s.stream,
		Parent: s.Span, Alone: s.finisher, Creation: s.creation, Parameters: s.parameters,
	}
	if info.Operation == telemetry.OperationNone {
		info.Name = s.method + " " + s.route.path
	}
	if u.deps.Traces != nil {
		info.Secrets = u.live.key.Load()
	}
	return info
}

func (s *requestState) operation() string {
	switch policy.Kind(s.Kind) {
	case policy.KindText, policy.KindChat:
		return telemetry.OperationChat
	case policy.KindOther:
		return telemetry.OperationNone
	case "":
		if s.method == get && s.route.endpoint == policy.EndpointTasks {
			return telemetry.OperationFetch
		}
		return telemetry.OperationNone
	}
	return telemetry.OperationGenerate
}

// spanParameters are the parts of a request that its exchange's span shows.
func spanParameters(r *policy.Request, body []byte) *telemetry.Parameters {
	p := &telemetry.Parameters{
		MaxTokens: telemetry.Optional[int64](r.MaxTokens), TopK: telemetry.Optional[int64](r.TopK), Seed: telemetry.Optional[int64](r.Seed),
		Temperature: telemetry.Optional[float64](r.Temperature), TopP: telemetry.Optional[float64](r.TopP), Presence: telemetry.Optional[float64](r.PresencePenalty),
		Stop: r.Stop, Output: "text", Body: body, Choices: r.N,
	}
	switch {
	case r.Images > 0:
		p.Output = "image"
	case r.JSON:
		p.Output = "json"
	}
	return p
}
