package gateway

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/telemetry"
)

// forward sends requests to the service and its answers to clients.
type forward struct {
	service *service
	claims  *claims
	proxy   *httputil.ReverseProxy
	streams *httputil.ReverseProxy // the same for requests of streams, with smaller buffers
}

func newForward(service *service, claims *claims) *forward {
	f := &forward{service: service, claims: claims}
	f.proxy, f.streams = f.newProxy(wire.NewCopyBuffers()), f.newProxy(wire.NewStreamBuffers())
	return f
}

func (f *forward) newProxy(buffers httputil.BufferPool) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        f.rewrite,
		Transport:      f.service.client,
		ModifyResponse: f.receive,
		BufferPool:     buffers,
		ErrorHandler: func(_ http.ResponseWriter, out *http.Request, err error) {
			s := stateOf(out.Context())
			s.failure = f.service.failed(s, err)
		},
		// The Record has what the proxy would log, whose own lines contain addresses.
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

// forward hands the request to the proxy. Its context does not end with the client's, because the service charges for the work whether
// or not the client stays.
func (f *forward) forward(w *reply, r *http.Request, s *requestState) error {
	proxy := f.proxy
	if s.stream {
		proxy = f.streams
	}
	proxy.ServeHTTP(w, r.WithContext(s.exchangeContext()))
	return s.failure
}

// rewrite makes the outbound request, with the service's key in place of the team's.
func (f *forward) rewrite(pr *httputil.ProxyRequest) {
	s := stateOf(pr.In.Context())
	pr.Out.URL, pr.Out.Host = f.target(s), ""
	f.service.outbound(pr.Out, s)
}

// target is the address at the service. It is made from the route, never from the client's path; only a forwarded path's rest and
// query are sent unchanged.
func (f *forward) target(s *requestState) *url.URL {
	if !s.route.prefix {
		return s.route.target
	}
	u := *f.service.config.UpstreamURL
	u.RawPath = u.EscapedPath() + "/" + s.rest
	u.Path, _ = url.PathUnescape(u.RawPath) // routes has unescaped it already
	u.RawQuery = s.query
	return &u
}

// receive turns the service's answer into one that the team may see, and claims the task that it names.
func (f *forward) receive(answer *http.Response) error {
	s := stateOf(answer.Request.Context())
	if err := f.service.receive(answer, s, f.claims.watch(s)); err != nil {
		return err
	}
	switch {
	case answer.StatusCode >= http.StatusBadRequest, isStream(answer.Header):
		return nil
	case s.creates && s.route.prefix:
		return f.claims.claimForwarded(answer, s)
	case s.creates:
		return f.claims.claimWhole(answer, s)
	}
	s.room.body = bounded{ReadCloser: answer.Body, left: longestAnswer}
	answer.Body = &s.room.body
	return nil
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
			s.service.alarms.CheckBilling(s.reading.ErrorCode)
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
