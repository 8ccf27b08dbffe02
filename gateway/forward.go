package gateway

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sluice/gateway/upstream"
	"sluice/gateway/wire"
	"sluice/policy"
)

// forward sends requests to the service and its answers to clients.
type forward struct {
	service *service
	base    *url.URL
	proxy   *httputil.ReverseProxy
	streams *httputil.ReverseProxy // the same for requests of streams, with smaller buffers
}

func newForward(service *service, base *url.URL) *forward {
	f := &forward{service: service, base: base}
	f.proxy, f.streams = f.newProxy(wire.NewCopyBuffers()), f.newProxy(wire.NewStreamBuffers())
	return f
}

func (f *forward) newProxy(buffers httputil.BufferPool) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        f.rewrite,
		Transport:      f.service.client,
		ModifyResponse: func(answer *http.Response) error { return f.service.receive(answer, stateOf(answer.Request.Context())) },
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

// target is the address at the service. It is made from the route, never from the client's path; only a forwarded path's
// rest and query go as they came.
func (f *forward) target(s *requestState) *url.URL {
	if !s.route.prefix {
		return s.route.target
	}
	u := *f.base
	u.RawPath = f.base.EscapedPath() + "/" + s.rest
	u.Path, _ = url.PathUnescape(u.RawPath) // routes has unescaped it already
	u.RawQuery = s.query
	return &u
}

const (
	// wholeAnswer bounds the answers that are read whole: task answers and errors. The service's are a few KB.
	wholeAnswer = 4 << 20
	// longestAnswer bounds an answer that is not a stream. It is passed on as it comes; the bound ends endless answers.
	longestAnswer = 256 << 20
)

var (
	errUpgraded   = errors.New("the service switched protocols")
	errRedirected = errors.New("the service answered with a redirect")
	errEncoded    = errors.New("the service sent a compressed answer without being asked")
	errOurKey     = errors.New("the service refused the gateway's own key")
)

// filterAnswer makes of the service's answer one that a team may see, or refuses it. It starts the Meter.
func (u *service) filterAnswer(answer *http.Response, s *requestState) error {
	if err := u.checkAnswer(answer); err != nil {
		s.fault = asRefusal(err).name
		s.exchange.Abandon()
		return err
	}
	if s.route.endpoint != policy.EndpointTasks { // a task's usage counts when the task is settled, not at each poll
		s.measure(answer.Header)
	}
	inbound(answer.Header)
	setLength(answer, &s.values)
	switch {
	case answer.StatusCode >= http.StatusBadRequest:
		return u.coverError(answer)
	case isStream(answer.Header):
		answer.Body = upstream.NewStream(answer.Body, u.live.key.Load(), u.claims.watch(s))
	case s.creates && s.route.prefix:
		return u.claims.claimForwarded(answer, s)
	case s.creates:
		return u.claims.claimWhole(answer, s)
	default:
		s.room.body = bounded{ReadCloser: answer.Body, left: longestAnswer}
		answer.Body = &s.room.body
	}
	return nil
}

// checkAnswer refuses an answer that is unfit for any team.
func (u *service) checkAnswer(answer *http.Response) error {
	broken := func(err error) error {
		return refuse(refuseAnswer).say("The service's answer could not be used.").because(err)
	}
	switch {
	case answer.StatusCode == http.StatusSwitchingProtocols:
		return broken(errUpgraded)
	case answer.StatusCode >= 300 && answer.StatusCode < 400:
		return broken(errRedirected) // following it would give the key to another host
	case answer.StatusCode == http.StatusUnauthorized:
		u.alarms.raise(alarmKeyRefused, errOurKey.Error())
		return refuse(refuseOurKey).say("The service refused the gateway's key; its operators have been alerted.").because(errOurKey)
	case slices.ContainsFunc(answer.Header["Content-Encoding"], compressed):
		return broken(errEncoded)
	}
	return nil
}

// compressed reports whether a value of Content-Encoding names an encoding other than identity.
func compressed(encoding string) bool {
	return encoding != "" && !strings.EqualFold(encoding, "identity")
}

// coverError reads an error whole, because its text may quote the key or name the service's hosts.
func (u *service) coverError(answer *http.Response) error {
	text, err := readWhole(answer)
	if err != nil {
		return err
	}
	u.live.key.Load().Redact(text)
	return nil
}

// readWhole reads an answer into memory and gives it a body that can be read again.
func readWhole(answer *http.Response) ([]byte, error) {
	defer func(b io.Closer) { _ = b.Close() }(answer.Body)
	text, err := io.ReadAll(io.LimitReader(answer.Body, wholeAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(text) > wholeAnswer {
		return nil, refuse(refuseAnswer).say("The service's answer was too long.")
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	setLength(answer, new(values))
	return text, nil
}

// setLength sets Content-Length if the length is known, so that the client's answer is framed as the service's was.
func setLength(answer *http.Response, room *values) {
	if answer.ContentLength >= 0 {
		answer.Header["Content-Length"] = room.one(strconv.FormatInt(answer.ContentLength, 10))
	}
}

func isStream(h http.Header) bool {
	media, _, _ := strings.Cut(first(h["Content-Type"]), ";")
	return strings.EqualFold(strings.TrimSpace(media), "text/event-stream")
}

// bounded ends an endless answer with an error, so that the client sees a cut and not a whole answer.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, refuse(refuseAnswer)
	}
	return n, err
}
