package upstream

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"sluice/gateway/upstream/upstreamtest"
)

// tunnelBy is the way through a proxy.
func tunnelBy(t testing.TB, proxy, user string, roots ...*x509.Certificate) *Tunnel {
	t.Helper()
	address, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	if name, password, ok := strings.Cut(user, ":"); ok {
		address.User = url.UserPassword(name, password)
	}
	pool := x509.NewCertPool()
	tunnel, err := ParseTunnel(Secret(address.String()), "")
	if err != nil {
		t.Fatal(err)
	}
	tunnel.Roots = func() *x509.CertPool { return pool }
	for _, cert := range roots {
		pool.AddCert(cert)
	}
	return tunnel
}

// through is a client of a service by a tunnel.
func through(t testing.TB, service string, tunnel *Tunnel) *Client {
	t.Helper()
	base, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	c := New(Config{
		URL: base, Tunnel: tunnel, Now: time.Now, Surplus: func() {},
		ConnectTimeout: 20 * time.Second, HeaderTimeout: 20 * time.Second, IdleTimeout: 20 * time.Second,
	})
	t.Cleanup(c.Close)
	return c
}

func ask(t testing.TB, c *Client, address string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.RoundTrip(r)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	return string(text), err
}

// Through a proxy the service is reached under TLS from end to end, on connections that are kept.
func TestTheServiceIsReachedThroughAProxy(t *testing.T) {
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, "served ", r.URL.Path)
	}))
	t.Cleanup(service.Close)
	plain := httptest.NewServer(service.Config.Handler)
	t.Cleanup(plain.Close)
	for _, tt := range []struct {
		about, service, connects string
		secure                   bool // the proxy
		plain                    bool // the service
	}{
		{about: "a plain proxy", service: "https://example.com", connects: "CONNECT example.com:443"},
		{about: "a proxy under TLS", service: "https://example.com:8443", connects: "CONNECT example.com:8443", secure: true},
		{about: "a plain service", service: "http://example.com", connects: "CONNECT example.com:80", plain: true},
		{about: "a plain service behind a proxy under TLS", service: "http://example.com", connects: "CONNECT example.com:80", secure: true,
			plain: true},
	} {
		t.Run(tt.about, func(t *testing.T) {
			to := service.Listener.Addr().String()
			if tt.plain {
				to = plain.Listener.Addr().String()
			}
			proxy := upstreamtest.NewProxy(t, to, tt.secure)
			proxy.User = "sluice:p@ss:word"
			roots := []*x509.Certificate{service.Certificate()}
			if tt.secure {
				roots = append(roots, proxy.Certificate())
			}
			tunnel := tunnelBy(t, proxy.URL, proxy.User, roots...)
			c := through(t, tt.service, tunnel)
			for range 3 {
				if text, err := ask(t, c, tt.service+"/a"); err != nil || text != "served /a" {
					t.Fatal(text, err)
				}
			}
			if n := proxy.Asked.Load(); n != 1 || proxy.Heard.Load() != tt.connects {
				t.Errorf("asked %d times, the last %v", n, proxy.Heard.Load())
			}
		})
	}
}

// What a proxy refuses did not reach the service; the error has the proxy's status and nothing else of its answer.
func TestAProxyThatRefuses(t *testing.T) {
	proxy := upstreamtest.NewProxy(t, "", false)
	proxy.User = "sluice:other"
	c := through(t, "https://example.com", tunnelBy(t, proxy.URL, "sluice:CANARY"))
	_, err := ask(t, c, "https://example.com/a")
	fault, ok := errors.AsType[*Error](err)
	if !ok || fault.Failure != Unreachable || strings.Contains(err.Error(), "CANARY") || !strings.Contains(fault.Unreached(), "status 407") {
		t.Fatalf("%v", err)
	}
}

// A password of the proxy that changes counts at the next connection; a text that is no address changes nothing.
func TestAProxysPasswordIsReadAgain(t *testing.T) {
	service := httptest.NewTLSServer(serve([]byte("served")))
	t.Cleanup(service.Close)
	proxy := upstreamtest.NewProxy(t, service.Listener.Addr().String(), false)
	proxy.User = "sluice:new"
	tunnel := tunnelBy(t, proxy.URL, "sluice:old", service.Certificate())
	c := through(t, "https://example.com", tunnel)
	text := Secret("CANARY")
	tunnel.Reread = func() Secret { return text }
	if _, err := ask(t, c, "https://example.com/a"); err == nil {
		t.Error("the old password serves")
	}
	text = "http://sluice:new@elsewhere.example:1"
	if text, err := ask(t, c, "https://example.com/a"); err != nil || text != "served" {
		t.Error(text, err)
	}
}

// A transport of net/http that dials by a tunnel asks the proxy with CONNECT, for http, too, and not for what is on this machine.
func TestATransportDialsThroughAProxy(t *testing.T) {
	service := httptest.NewServer(serve([]byte("served")))
	t.Cleanup(service.Close)
	proxy := upstreamtest.NewProxy(t, service.Listener.Addr().String(), false)
	for _, tt := range []struct {
		about, address string
		tunnel         *Tunnel
		asked          int64
	}{
		{"no proxy", service.URL, nil, 0},
		{"on this machine", service.URL, tunnelBy(t, proxy.URL, ""), 0},
		{"elsewhere", "http://issuer.example", tunnelBy(t, proxy.URL, ""), 1},
	} {
		client := &http.Client{Transport: &http.Transport{DialContext: tt.tunnel.DialContext, DisableKeepAlives: true}}
		answer, err := client.Get(tt.address)
		if err != nil {
			t.Fatal(tt.about, err)
		}
		_ = answer.Body.Close()
		if n := proxy.Asked.Load(); n != tt.asked || n > 0 && proxy.Heard.Load() != "CONNECT issuer.example:80" {
			t.Errorf("%s: the proxy was asked %d times, the last %v", tt.about, n, proxy.Heard.Load())
		}
	}
}

// A proxy that talks before it was asked, that sends no answer or an endless one, is no way to the service.
func TestAProxyThatMisbehaves(t *testing.T) {
	for about, answer := range map[string]string{
		"bytes behind the answer": "HTTP/1.1 200 OK\r\n\r\n\x16\x03\x01",
		"no answer":               "",
		"another protocol":        "SSH-2.0-OpenSSH\r\n",
		"an endless header":       "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 2*longestHeader),
	} {
		t.Run(about, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = listener.Close() })
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					_, _ = http.ReadRequest(bufio.NewReader(conn))
					_, _ = io.WriteString(conn, answer)
					_ = conn.Close()
				}
			}()
			_, err = ask(t, through(t, "https://example.com", tunnelBy(t, "http://"+listener.Addr().String(), "")), "https://example.com/a")
			if fault, ok := errors.AsType[*Error](err); !ok || fault.Failure != Unreachable {
				t.Fatal(err)
			}
		})
	}
}

// What NO_PROXY lists, and what is on this machine, is reached directly.
func TestTheDirectWay(t *testing.T) {
	for _, tt := range []struct {
		address, direct string
		want            bool // through the proxy
	}{
		{"https://service.example", "", true},
		{"https://service.example", "service.example", false},
		{"https://api.service.example", ".service.example", false},
		{"https://10.1.2.3", "10.0.0.0/8", false},
		{"https://11.1.2.3", "10.0.0.0/8", true},
		{"https://localhost", "", false},
	} {
		tunnel, err := ParseTunnel("http://proxy.example:3128", tt.direct)
		if err != nil {
			t.Fatal(err)
		}
		service, err := url.Parse(tt.address)
		if err != nil {
			t.Fatal(err)
		}
		if got := tunnel.leadsTo(service) != nil; got != tt.want {
			t.Errorf("%s without %q: %v", tt.address, tt.direct, got)
		}
	}
	for _, text := range []Secret{"proxy.example:3128", "socks5://proxy.example", "http://", "http://proxy.example/path",
		"http://proxy.example?x=1", "://"} {
		if _, err := ParseTunnel(text, ""); !errors.Is(err, ErrProxy) {
			t.Errorf("%s: %v", text.Reveal(), err)
		}
	}
}

// guardedBy sends one request by the transport for addresses that others chose, through a proxy.
func guardedBy(t *testing.T, g Guard, address string) (string, error) {
	t.Helper()
	client := &http.Client{Transport: Guarded(g)}
	answer, err := client.Get(address)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	return string(text), err
}

// Through a proxy, too, an address that others chose is judged before anybody connects to it: the proxy is told the very address that
// passed, and no name that may lead elsewhere a moment later. What is not public is not told at all.
func TestAProxyIsToldTheAddressThatWasJudged(t *testing.T) {
	service := httptest.NewTLSServer(serve([]byte("served")))
	t.Cleanup(service.Close)
	for _, tt := range []struct {
		about, address string
		leads          []string
		networks       []netip.Prefix
		heard          any // nil: nothing
		guarded        bool
	}{
		{about: "a public name", address: "https://a.example.com/", leads: []string{"93.184.216.34", "10.0.0.1"},
			heard: "CONNECT 93.184.216.34:443"},
		{about: "a public address", address: "https://93.184.216.34:8443/", heard: "CONNECT 93.184.216.34:8443"},
		{about: "a private name", address: "https://a.example.com/", leads: []string{"10.0.0.1"}, guarded: true},
		{about: "a private address", address: "https://10.0.0.1/", guarded: true},
		{about: "a listed network", address: "https://a.example.com/", leads: []string{"10.0.0.1"},
			networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, heard: "CONNECT 10.0.0.1:443"},
		{about: "an address of metadata", address: "https://a.example.com/", leads: []string{"169.254.169.254"}, guarded: true},
		{about: "this machine", address: "https://127.0.0.1:1/", guarded: true},
	} {
		t.Run(tt.about, func(t *testing.T) {
			proxy := upstreamtest.NewProxy(t, service.Listener.Addr().String(), false)
			g := Guard{Networks: tt.networks, Tunnel: tunnelBy(t, proxy.URL, "", service.Certificate()),
				Resolver: upstreamtest.Resolver(t, tt.leads...)}
			text, err := guardedBy(t, g, tt.address)
			if heard := proxy.Heard.Load(); heard != tt.heard {
				t.Errorf("the proxy was asked for %v", heard)
			}
			if _, judged := errors.AsType[*tls.CertificateVerificationError](err); tt.heard != nil && text != "served" && !judged ||
				IsGuarded(err) != tt.guarded {
				t.Errorf("%q %v", text, err)
			}
		})
	}
	proxy := upstreamtest.NewProxy(t, "", false)
	proxy.User = "somebody:else"
	g := Guard{Tunnel: tunnelBy(t, proxy.URL, ""), Resolver: upstreamtest.Resolver(t, "93.184.216.34")}
	if _, err := guardedBy(t, g, "https://a.example.com/"); err == nil || strings.Contains(err.Error(), "CANARY") {
		t.Error(err)
	} else if _, ok := errors.AsType[*ProxyError](err); !ok {
		t.Error(err)
	}
}
