package upstream

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Tunnel connects through the operator's outbound proxy with CONNECT: TLS is end to end, so the proxy sees the service's name and no key.
// The zero Tunnel connects directly, and so does nil. It is safe for concurrent use.
type Tunnel struct {
	// Roots returns the root certificates for the other end, and for a proxy under TLS. It is called at each new connection. Nil, or a nil
	// pool: the system's.
	Roots func() *x509.CertPool
	// Reread returns the proxy's URL as it is set now. Each new connection takes its user and password. Nil: they do not change.
	Reread func() Secret

	proxy *url.URL
	to    func(*url.URL) (*url.URL, error)
}

// ErrProxy is the error for a text that is not the URL of a proxy.
var ErrProxy = errors.New("not an address of a proxy")

// ParseTunnel returns the tunnel through a proxy, http://host:port or https://user:password@host:port; nil: the text is empty. direct lists
// what is connected to without the proxy: hosts, domains such as .example.com, addresses and networks, comma-separated. This machine
// always is. The error is [ErrProxy].
func ParseTunnel(proxy Secret, direct string) (*Tunnel, error) {
	text := proxy.Reveal()
	if text == "" {
		return nil, nil
	}
	u := addressOf(proxy)
	if u == nil {
		return nil, ErrProxy
	}
	config := httpproxy.Config{HTTPProxy: text, HTTPSProxy: text, NoProxy: direct}
	return &Tunnel{proxy: u, to: config.ProxyFunc()}, nil
}

// addressOf reads the URL of a proxy; nil: it is not one.
func addressOf(proxy Secret) *url.URL {
	u, err := url.Parse(proxy.Reveal())
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" ||
		u.RawQuery+u.Fragment != "" {
		return nil
	}
	return u
}

// current returns the proxy's URL with the current user and password.
func (t *Tunnel) current() *url.URL {
	if t.Reread != nil {
		if u := addressOf(t.Reread()); u != nil {
			moved := *t.proxy
			moved.User = u.User
			return &moved
		}
	}
	return t.proxy
}

// DialContext connects to an address, through the proxy or directly. It is for [http.Transport], whose own Proxy would ask for http
// addresses without CONNECT.
func (t *Tunnel) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if t.leadsTo(&url.URL{Scheme: "https", Host: address}) == nil {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	return t.dial(ctx, address)
}

// handshakeFor bounds the handshake of a transport's connection.
const handshakeFor = 10 * time.Second

// dialer connects to an address, as [http.Transport] asks for it.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// securely adds TLS to dial, with the current root certificates. A transport would keep those of its start.
func (t *Tunnel) securely(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, handshakeFor)
		defer cancel()
		host, _, _ := net.SplitHostPort(address)
		secure := tls.Client(conn, t.trusting(&tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}))
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return secure, nil
	}
}

// DialTLSContext is DialContext with TLS.
func (t *Tunnel) DialTLSContext(ctx context.Context, network, address string) (net.Conn, error) {
	return t.securely(t.DialContext)(ctx, network, address)
}

// trusting returns a configuration with the current root certificates.
func (t *Tunnel) trusting(config *tls.Config) *tls.Config {
	if t == nil || t.Roots == nil {
		return config
	}
	config = config.Clone()
	config.RootCAs = t.Roots()
	return config
}

// Transport returns a transport for occasional calls through the tunnel: it keeps no connection.
func (t *Tunnel) Transport() *http.Transport {
	return &http.Transport{DialContext: t.DialContext, DialTLSContext: t.DialTLSContext, DisableKeepAlives: true}
}

// leadsTo returns the tunnel to use for a URL; nil: connect directly.
func (t *Tunnel) leadsTo(service *url.URL) *Tunnel {
	if t == nil || t.proxy == nil {
		return nil
	}
	if proxy, err := t.to(service); err != nil || proxy == nil {
		return nil
	}
	return t
}

// ProxyError is the error of a proxy that refuses to connect to the service.
type ProxyError struct {
	Status int // of its answer
}

// Error quotes nothing of the answer but its status.
func (e *ProxyError) Error() string {
	return fmt.Sprintf("the proxy answered CONNECT with %d %s", e.Status, http.StatusText(e.Status))
}

var errTalkative = errors.New("the proxy sent bytes before the service was asked for any")

// dial has the proxy connect to an address, and returns the connection through it.
func (t *Tunnel) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", hostPort(t.proxy))
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	through, err := t.open(ctx, conn, address)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return through, nil
}

// open has the proxy at the other end of a connection connect to an address, and returns the connection through it. The end of ctx must
// close the connection.
func (t *Tunnel) open(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	if t.proxy.Scheme == "https" {
		secure := tls.Client(conn, t.trusting(&tls.Config{
			MinVersion: tls.VersionTLS12, ServerName: t.proxy.Hostname(),
			NextProtos: []string{"http/1.1"},
		}))
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn = secure
	}
	connect := &http.Request{
		Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address,
		Header: http.Header{"User-Agent": {"sluice"}},
	}
	if user := t.current().User; user != nil {
		password, _ := user.Password()
		connect.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := connect.Write(conn); err != nil {
		return nil, err
	}
	in := bufio.NewReader(io.LimitReader(conn, longestHeader))
	answer, err := http.ReadResponse(in, connect)
	if err != nil {
		return nil, err
	}
	_ = answer.Body.Close()
	switch {
	case answer.StatusCode != http.StatusOK:
		return nil, &ProxyError{answer.StatusCode}
	case in.Buffered() > 0:
		return nil, errTalkative
	}
	return conn, nil
}
