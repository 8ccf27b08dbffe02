// Package upstreamtest has an outbound proxy and a DNS server for tests.
package upstreamtest

import (
	"cmp"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// Proxy is a proxy that takes CONNECT for any name and connects to one address. It counts its requests.
type Proxy struct {
	*httptest.Server
	To    string       // host:port; empty: the requested one
	User  string       // user:password that it requires, else it answers 407; empty: it requires none
	Asked atomic.Int64 // requests
	Heard atomic.Value // the method and address of the last request, a string
}

// NewProxy starts a proxy, secure: under TLS.
func NewProxy(t testing.TB, to string, secure bool) *Proxy {
	t.Helper()
	p := &Proxy{To: to}
	p.Server = httptest.NewUnstartedServer(p)
	if secure {
		p.StartTLS()
	} else {
		p.Start()
	}
	t.Cleanup(p.Close)
	return p
}

// ServeHTTP implements [http.Handler].
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.Asked.Add(1)
	p.Heard.Store(r.Method + " " + r.Host)
	r.Header.Set("Authorization", r.Header.Get("Proxy-Authorization")) // BasicAuth reads this one
	user, password, _ := r.BasicAuth()
	if r.Method != http.MethodConnect || p.User != "" && user+":"+password != p.User {
		http.Error(w, "CANARY of the proxy", http.StatusProxyAuthRequired)
		return
	}
	out, err := new(net.Dialer).DialContext(r.Context(), "tcp", cmp.Or(p.To, r.Host))
	if err != nil {
		http.Error(w, "", http.StatusBadGateway)
		return
	}
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = out.Close()
		return
	}
	_, _ = io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() { _, _ = io.Copy(out, buffered); _ = out.Close() }()
	_, _ = io.Copy(in, out)
	_ = in.Close()
}
