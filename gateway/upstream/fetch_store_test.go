package upstream

import (
	"bytes"
	"crypto/x509"
	"image"
	"image/png"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/gateway/upstream/upstreamtest"
)

// store is a host with pictures, over TLS and real sockets. Its names are those of httptest's certificate.
type store struct {
	testing.TB
	server *httptest.Server
	port   string
	asked  atomic.Int32
}

func newStore(t testing.TB, handler http.HandlerFunc) *store {
	s := &store{TB: t}
	s.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		handler(w, r)
	}))
	t.Cleanup(s.server.Close)
	_, s.port, _ = net.SplitHostPort(s.server.Listener.Addr().String())
	return s
}

// address is that of a path at one of the store's names.
func (s *store) address(name, path string) string { return "https://" + name + ":" + s.port + path }

// config lists the store and opens this machine's network.
func (s *store) config(names ...string) FetchConfig {
	c := FetchConfig{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Tunnel: &Tunnel{Roots: s.roots},
		Resolver: upstreamtest.Resolver(s, "127.0.0.1")}
	for _, name := range names {
		c.Hosts = append(c.Hosts, Host(name+":"+s.port))
	}
	return c
}

func (s *store) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(s.server.Certificate())
	return pool
}

// drawing is a PNG of some size, padded behind its end.
func drawing(size int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		panic(err)
	}
	return append(b.Bytes(), strings.Repeat("x", max(size-b.Len(), 0))...)
}

// serve answers with a body of known length.
func serve(body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }
}

// writes keeps what is written, and the size of the largest write.
type writes struct {
	bytes.Buffer
	largest int
}

func (p *writes) Write(b []byte) (int, error) {
	p.largest = max(p.largest, len(b))
	return p.Buffer.Write(b)
}

func itoa(n int) string { return strconv.Itoa(n) }
