package gateway

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
)

// forward sends requests to the service and its answers to clients.
type forward struct {
	service *service
	base    *url.URL
	proxy   *httputil.ReverseProxy
}

func newForward(service *service, base *url.URL) *forward {
	return &forward{service: service, base: base, proxy: &httputil.ReverseProxy{
		Rewrite:      service.rewrite,
		Transport:    service,
		BufferPool:   newBufferPool(),
		ErrorHandler: func(_ http.ResponseWriter, out *http.Request, err error) { stateOf(out.Context()).failure = err },
		// The Record has what the proxy would log, whose own lines contain addresses.
		ErrorLog: log.New(io.Discard, "", 0),
	}}
}

// forward hands the proxy a bare request: the client's is in the state, and rewrite takes from there what may go on.
func (f *forward) forward(w *reply, _ *http.Request, s *requestState) error {
	bare := s.room.request
	bare.Method, bare.URL = s.method, f.target(s)
	s.out = w.Header()
	f.proxy.ServeHTTP(w, bare)
	return s.failure
}

// rewrite builds the outbound request from nothing. Its header is in the state.
func (u *service) rewrite(pr *httputil.ProxyRequest) {
	u.outbound(stateOf(pr.In.Context()))
	pr.Out.Header = ownAgent
	pr.Out.Body = nil // the state has it
}

// ownAgent is the header that the proxy sees. It would add a User-Agent to another.
var ownAgent = http.Header{"User-Agent": {"sluice"}}

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

// bufferPool lends the proxy its copy buffers. A buffer is lent to one request at a time, and the proxy gives it back
// only after its last write.
type bufferPool struct{ pool sync.Pool }

const copyBuffer = 32 << 10

func newBufferPool() *bufferPool {
	return &bufferPool{sync.Pool{New: func() any { return new([copyBuffer]byte) }}}
}

func (p *bufferPool) Get() []byte  { return p.pool.Get().(*[copyBuffer]byte)[:] }
func (p *bufferPool) Put(b []byte) { p.pool.Put((*[copyBuffer]byte)(b)) }
