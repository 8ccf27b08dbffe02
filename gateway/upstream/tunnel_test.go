package upstream

import (
	"bufio"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// houseProxy is a proxy that takes CONNECT for any name and leads to one address. It counts what it was asked.
type houseProxy struct {
	*httptest.Server
	to     string
	status int    // of its refusal; 0: it serves
	user   string // user:password that it wants; empty: nobody
	asked  atomic.Int64
	heard  atomic.Value // the last address that it was asked for
}

func newHouseProxy(t *testing.T, to string, secure bool) *houseProxy {
	t.Helper()
	p := &houseProxy{to: to}
	p.Server = httptest.NewUnstartedServer(p)
	if secure {
		p.StartTLS()
	} else {
		p.Start()
	}
	t.Cleanup(p.Close)
	return p
}

func (p *houseProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked.Add(1)
	p.heard.Store(r.Method + " " + r.Host)
	r.Header.Set("Authorization", r.Header.Get("Proxy-Authorization")) // BasicAuth reads this one
	user, password, _ := r.BasicAuth()
	if p.status == 0 && p.user != "" && user+":"+password != p.user {
		p.status = http.StatusProxyAuthRequired
	}
	if p.status != 0 {
		http.Error(w, "CANARY of the proxy", p.status)
		return
	}
	out, err := net.Dial("tcp", p.to)
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

// through is a client of a service by a proxy.
func (p *houseProxy) through(t *testing.T, service, user, direct string, roots ...*x509.Certificate) *Client {
	t.Helper()
	address, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	if name, password, ok := strings.Cut(user, ":"); ok {
		address.User = url.UserPassword(name, password)
	}
	tunnel, err := ParseTunnel(Secret(address.String()), direct)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	for _, cert := range roots {
		pool.AddCert(cert)
	}
	tunnel.roots = pool
	base, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	c := New(Config{
		URL: base, Tunnel: tunnel, Roots: pool, Now: time.Now, Surplus: func() {},
		ConnectTimeout: 20 * time.Second, HeaderTimeout: 20 * time.Second, IdleTimeout: 20 * time.Second,
	})
	t.Cleanup(c.Close)
	return c
}

func ask(t *testing.T, c *Client, address string) (string, error) {
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
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, "served ", r.URL.Path) }))
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
		{about: "a plain service behind a proxy under TLS", service: "http://example.com", connects: "CONNECT example.com:80", secure: true, plain: true},
	} {
		t.Run(tt.about, func(t *testing.T) {
			to := service.Listener.Addr().String()
			if tt.plain {
				to = plain.Listener.Addr().String()
			}
			proxy := newHouseProxy(t, to, tt.secure)
			proxy.user = "sluice:p@ss:word"
			roots := []*x509.Certificate{service.Certificate()}
			if tt.secure {
				roots = append(roots, proxy.Certificate())
			}
			c := proxy.through(t, tt.service, proxy.user, "", roots...)
			for range 3 {
				if text, err := ask(t, c, tt.service+"/a"); err != nil || text != "served /a" {
					t.Fatal(text, err)
				}
			}
			if n := proxy.asked.Load(); n != 1 || proxy.heard.Load() != tt.connects {
				t.Errorf("asked %d times, the last %v", n, proxy.heard.Load())
			}
		})
	}
}

// What a proxy refuses did not reach the service; the error has the proxy's status and nothing else of its answer.
func TestAProxyThatRefuses(t *testing.T) {
	proxy := newHouseProxy(t, "", false)
	proxy.user = "sluice:other"
	c := proxy.through(t, "https://example.com", "sluice:CANARY", "")
	_, err := ask(t, c, "https://example.com/a")
	fault, ok := errors.AsType[*Error](err)
	if !ok || fault.Failure != Unreachable || strings.Contains(err.Error(), "CANARY") || !strings.Contains(fault.Unreached(), "status 407") {
		t.Fatalf("%v", err)
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
			proxy := &houseProxy{Server: &httptest.Server{URL: "http://" + listener.Addr().String()}}
			_, err = ask(t, proxy.through(t, "https://example.com", "", ""), "https://example.com/a")
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
	for _, text := range []Secret{"proxy.example:3128", "socks5://proxy.example", "http://", "http://proxy.example/path", "http://proxy.example?x=1", "://"} {
		if _, err := ParseTunnel(text, ""); !errors.Is(err, ErrProxy) {
			t.Errorf("%s: %v", text.Reveal(), err)
		}
	}
}
