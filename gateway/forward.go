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
	f := &forward{service: service, base: base}
	f.proxy, f.streams = f.newProxy(newBufferPool()), f.newProxy(newStreamPool())
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
