package gateway

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"

	"sluice/gateway/wire"
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
