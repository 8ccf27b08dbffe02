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
	streams *httputil.ReverseProxy // the same for requests of streams, with smaller buffers
}

func newForward(service *service, base *url.URL) *forward {
	return &forward{service: service, base: base, proxy: newProxy(service, newBufferPool()), streams: newProxy(service, newStreamPool())}
}

func newProxy(service *service, buffers httputil.BufferPool) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:      service.rewrite,
		Transport:    service,
		BufferPool:   buffers,
		ErrorHandler: func(_ http.ResponseWriter, out *http.Request, err error) { stateOf(out.Context()).failure = err },
		// The Record has what the proxy would log, whose own lines contain addresses.
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

// forward hands the proxy a bare request: the client's is in the state, and rewrite takes from there what may go on.
func (f *forward) forward(w *reply, _ *http.Request, s *requestState) error {
	bare := s.room.request
	bare.Method, bare.URL = s.method, f.target(s)
	s.out = w.Header()
	proxy := f.proxy
	if s.stream {
		proxy = f.streams
	}
	proxy.ServeHTTP(w, bare)
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

const (
	copyBuffer = 32 << 10
	// streamBuffer is smaller, because a stream has its buffer while it waits. A full one leaves in one write: net/http's
	// buffer of 4 KiB has room for it and the frame of its chunk.
	streamBuffer = 4<<10 - 16
)

// bufferPool lends the proxy its copy buffers. A buffer is lent to one request at a time, and the proxy gives it back
// only after its last write. The pool keeps arrays, which cost no allocation to give back.
type bufferPool struct{ pool sync.Pool }

func newBufferPool() *bufferPool {
	return &bufferPool{sync.Pool{New: func() any { return new([copyBuffer]byte) }}}
}

func (p *bufferPool) Get() []byte  { return p.pool.Get().(*[copyBuffer]byte)[:] }
func (p *bufferPool) Put(b []byte) { p.pool.Put((*[copyBuffer]byte)(b)) }

// streamPool is a bufferPool of the buffers of streams.
type streamPool struct{ pool sync.Pool }

func newStreamPool() *streamPool {
	return &streamPool{sync.Pool{New: func() any { return new([streamBuffer]byte) }}}
}

func (p *streamPool) Get() []byte  { return p.pool.Get().(*[streamBuffer]byte)[:] }
func (p *streamPool) Put(b []byte) { p.pool.Put((*[streamBuffer]byte)(b)) }
