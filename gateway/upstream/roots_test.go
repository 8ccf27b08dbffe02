package upstream

import (
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"

	"sluice/gateway/upstream/upstreamtest"
)

// The authorities of now count for each new connection to the service, to hooks and pictures, to issuers, and to a proxy under TLS; a
// connection that is kept stays.
func TestTheAuthoritiesOfNowCount(t *testing.T) {
	service := httptest.NewTLSServer(serve([]byte("served")))
	t.Cleanup(service.Close)
	trusted, empty := x509.NewCertPool(), x509.NewCertPool()
	trusted.AddCert(service.Certificate())
	for _, about := range []string{"the service", "hooks and pictures", "issuers", "a proxy"} {
		t.Run(about, func(t *testing.T) {
			var roots atomic.Pointer[x509.CertPool]
			roots.Store(empty)
			tunnel, address := &Tunnel{}, service.URL
			if about == "a proxy" {
				proxy := upstreamtest.NewProxy(t, service.Listener.Addr().String(), true)
				tunnel, address = tunnelBy(t, proxy.URL, ""), "https://example.com"
			}
			tunnel.Roots = roots.Load
			client := through(t, address, tunnel)
			var trip http.RoundTripper = client
			switch about {
			case "hooks and pictures":
				guarded := Guarded(Guard{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Tunnel: tunnel})
				t.Cleanup(guarded.CloseIdleConnections)
				trip = guarded
			case "issuers":
				trip = tunnel.Transport()
			}
			served := func() bool {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := trip.RoundTrip(r)
				if err != nil {
					return false
				}
				text, err := io.ReadAll(answer.Body)
				_ = answer.Body.Close()
				return err == nil && string(text) == "served"
			}
			if served() {
				t.Fatal("an authority that nobody named is trusted")
			}
			roots.Store(trusted)
			if !served() {
				t.Fatal("the new authority is not trusted")
			}
			roots.Store(empty)
			if kept := about != "issuers"; served() != kept {
				t.Errorf("kept connections: want %v", kept)
			}
		})
	}
}
