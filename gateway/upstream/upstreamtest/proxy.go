// Package upstreamtest has for tests what stands between a gateway and others: a proxy of the house, and a server of names.
package upstreamtest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// Proxy is a proxy that takes CONNECT for any name and leads to one address. It counts what it was asked.
type Proxy struct {
	*httptest.Server
	To    string       // host:port; empty: where it is asked for
	User  string       // user:password that it requires, else it answers 407; empty: it requires none
	Asked atomic.Int64 // how often
	Heard atomic.Value // the last method and address, a string
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
	to := p.To
	if to == "" {
		to = r.Host
	}
	out, err := new(net.Dialer).DialContext(r.Context(), "tcp", to)
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
