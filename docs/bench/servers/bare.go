package servers

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Bare is an httputil.ReverseProxy over a tuned http.Transport: enough connections for every client, buffers of 8 KB, pooled copy
// buffers, no compression. It parses, counts and logs nothing.
//
// The server must not close a request's body when the answer begins: the Transport may still check whether the body has ended,
// takes a closed one for a broken request, and aborts the answer.
func Bare(listener net.Listener, upstream string) error {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(&url.URL{Scheme: "http", Host: upstream})
			pr.Out.Header.Set("Authorization", "Bearer upstream")
		},
		Transport: &http.Transport{
			DisableCompression: true, MaxIdleConnsPerHost: 512, IdleConnTimeout: 30 * time.Second,
			ResponseHeaderTimeout: 5 * time.Minute, WriteBufferSize: 8 << 10, ReadBufferSize: 8 << 10,
		},
		BufferPool: &buffers{},
		ErrorLog:   log.New(io.Discard, "", 0),
	}
	return serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/1 can do it
		proxy.ServeHTTP(w, r)
	}))
}

// Handler answers every request with the header and body of a task's end, like a gateway that has it cached.
func Handler(listener net.Listener) error {
	return serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h["Content-Type"], h["Content-Length"] = []string{"application/json"}, []string{strconv.Itoa(len(taskEnd))}
		h["Age"], h["Cache-Status"] = []string{"12"}, []string{"sluice;hit;ttl=86388"}
		h["Cache-Control"], h["Server-Timing"] = []string{"private, no-store"}, []string{"sluice;dur=0.0"}
		h["Sluice-Request-Id"] = []string{"7f3c5a52-93e5-4d42-8a65-0d2a91b4a7f0"}
		_, _ = io.WriteString(w, taskEnd)
	}))
}

func serve(listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 28 << 10,
	}
	return server.Serve(listener)
}

// buffers pools the proxy's copy buffers.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return *buffer
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }
