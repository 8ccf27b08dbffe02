package gateway

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
)

// forward sends the request to the service and its answer to the client, by httputil.ReverseProxy. The proxy is handed
// a bare request: what the client sent is in the call, and rewrite takes from there what may go on.
func (g *Gateway) forward(w *reply, r *http.Request, c *call) error {
	bare := &http.Request{Method: c.method, URL: g.target(c), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	g.proxy.ServeHTTP(w, bare.WithContext(c.attach(r.Context())))
	return c.failure
}

func newProxy(g *Gateway) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:      g.rewrite,
		Transport:    g.upstream,
		BufferPool:   newBufferPool(),
		ErrorHandler: func(_ http.ResponseWriter, out *http.Request, err error) { callOf(out.Context()).failure = err },
		// What it would log is in the Record; its own lines carry addresses.
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

// rewrite builds the outbound request from nothing.
func (g *Gateway) rewrite(pr *httputil.ProxyRequest) {
	c := callOf(pr.In.Context())
	pr.Out.Header = g.outbound(c)
	pr.Out.Body = nil // the call has it
}

// target is the address at upstream. It is made from the route, never from the client's path; only a forwarded path's
// rest and query go as they came.
func (g *Gateway) target(c *call) *url.URL {
	if !c.route.prefix {
		return c.route.target
	}
	u := *g.config.UpstreamURL
	u.RawPath = g.config.UpstreamURL.EscapedPath() + "/" + c.rest
	u.Path, _ = url.PathUnescape(u.RawPath) // route has read it already
	u.RawQuery = c.query
	return &u
}

// bufferPool lends the proxy its copy buffers. A buffer is lent to one request at a time and the proxy gives it back
// only after its last write.
type bufferPool struct{ pool sync.Pool }

const copyBuffer = 32 << 10

func newBufferPool() *bufferPool {
	return &bufferPool{sync.Pool{New: func() any { b := make([]byte, copyBuffer); return &b }}}
}

func (p *bufferPool) Get() []byte  { return *p.pool.Get().(*[]byte) }
func (p *bufferPool) Put(b []byte) { p.pool.Put(&b) }
