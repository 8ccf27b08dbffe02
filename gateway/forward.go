package gateway

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"time"

	"sluice/gateway/accounts"
	"sluice/gateway/upstream"
	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/policy/forms"
	"sluice/telemetry"
)

// forward sends requests to the service and its answers to clients.
type forward struct {
	service *service
	claims  *claims
	proxy   *httputil.ReverseProxy
	streams *httputil.ReverseProxy // the same for requests of streams, with smaller buffers
}

func newForward(service *service, claims *claims, move func(*requestState, *accounts.Attempt) time.Duration) *forward {
	f, way := &forward{service: service, claims: claims}, &attempts{service, move}
	f.proxy, f.streams = f.newProxy(way, wire.NewCopyBuffers()), f.newProxy(way, wire.NewStreamBuffers())
	return f
}

func (f *forward) newProxy(way *attempts, buffers httputil.BufferPool) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        f.rewrite,
		Transport:      way,
		ModifyResponse: f.receive,
		BufferPool:     buffers,
		ErrorHandler: func(_ http.ResponseWriter, out *http.Request, err error) {
			s := stateOf(out.Context())
			s.failure = f.service.failed(s, err)
		},
		// The Record has what the proxy would log; the proxy's lines contain addresses.
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
	f.service.outbound(pr.Out, stateOf(pr.In.Context()))
}

// receive turns the service's answer into one that the team may see, and claims the task that it names.
func (f *forward) receive(answer *http.Response) error {
	s := stateOf(answer.Request.Context())
	if err := f.service.receive(answer, s, f.claims.watch(s)); err != nil {
		return err
	}
	switch {
	case answer.StatusCode >= http.StatusBadRequest, wire.IsStream(answer.Header):
		return nil
	case s.route.prefix && (s.creates || s.route.reads == forms.Native && !nameless(s)):
		return f.claims.claimForwarded(answer, s)
	case s.creates:
		return f.claims.claimWhole(answer, s)
	}
	s.room.body = upstream.Bounded{ReadCloser: answer.Body}
	answer.Body = &s.room.body
	return nil
}

// spanParameters are the parts of a request that its exchange's span shows.
func spanParameters(r *policy.Request, body []byte) *telemetry.Parameters {
	p := &telemetry.Parameters{
		MaxTokens: telemetry.Optional[int64](r.MaxTokens), TopK: telemetry.Optional[int64](r.TopK), Seed: telemetry.Optional[int64](r.Seed),
		Temperature: telemetry.Optional[float64](r.Temperature), TopP: telemetry.Optional[float64](r.TopP),
		Presence: telemetry.Optional[float64](r.PresencePenalty), Stop: r.Stop, Output: "text", Body: body, Choices: r.N,
	}
	switch {
	case r.Images > 0:
		p.Output = "image"
	case r.JSON:
		p.Output = "json"
	}
	return p
}
