package upstream

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	// idleConn is how long a connection may be idle: shorter than load balancers allow, so that few connections are closed
	// at the other end when they are used.
	idleConn = 30 * time.Second
	// idleConns is how many idle connections are kept.
	idleConns = 512
)

// Config has the operator's settings for connections to the service. Every field is required unless its comment says otherwise.
type Config struct {
	URL *url.URL // scheme and host of the service

	ConnectTimeout time.Duration // to connect, TLS included
	HeaderTimeout  time.Duration // from the request's last byte to the answer's header
	IdleTimeout    time.Duration // silence inside an answer, and while the service takes a request
	DrainTime      time.Duration // to read the rest of an answer whose client has left
	PulseTime      time.Duration // the silence inside an answer after which an exchange's pulse is called; see [Exchange.Pulse]

	Tunnel *Tunnel // the outbound proxy; nil: none, and the system's root certificates

	Keep    []string         // the headers of answers that are needed, in canonical form; others may be missing; nil: all are needed
	Now     func() time.Time // the clock
	Surplus func()           // called for each connection on which the service sent unrequested bytes
}

// pool keeps connections to the service. It ignores a proxy in the environment.
type pool struct {
	network string
	address string
	tunnel  *Tunnel     // nil: direct
	secure  *tls.Config // nil: plain
	dialer  net.Dialer
	config  *Config

	mu    sync.Mutex
	idle  []*conn // in the order of use
	prune *time.Timer
	shut  bool
}

func newPool(config *Config) *pool {
	p := &pool{
		network: "tcp", address: hostPort(config.URL), tunnel: config.Tunnel.leadsTo(config.URL),
		dialer: net.Dialer{Timeout: config.ConnectTimeout},
		config: config,
	}
	if config.URL.Scheme == "https" {
		p.secure = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: config.URL.Hostname(), NextProtos: []string{"http/1.1"}}
	}
	return p
}

var defaultPorts = map[string]string{"http": "80", "https": "443"}

func hostPort(u *url.URL) string {
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), defaultPorts[u.Scheme]))
}

// get returns an idle connection that can carry a request, or a new one. now is when the exchange begins.
func (p *pool) get(ctx context.Context, now time.Time) (*conn, error) {
	for {
		c := p.last()
		if c == nil {
			return p.dial(ctx)
		}
		switch c.taken = now; {
		case now.Sub(c.idle) >= idleConn: // expire would close it soon
			_ = c.Close()
		case p.check(c) == nil:
			return c, nil
		}
	}
}

// check looks at a connection before a request is written, and closes one that cannot carry it.
func (p *pool) check(c *conn) error {
	err := c.look()
	if err == errSurplus {
		p.config.Surplus()
	}
	if err != nil {
		_ = c.Close()
	}
	return err
}

func (p *pool) last() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	return c
}

// dial connects, and under TLS verifies the service's certificate, before a byte of a request is written. It does so on another
// goroutine: the caller's stack would grow, and stay large while the answer streams. The end of ctx ends it.
func (p *pool) dial(ctx context.Context) (*conn, error) {
	var c *conn
	var err error
	connected := make(chan struct{})
	go func() {
		defer close(connected)
		c, err = p.connect(ctx)
	}()
	if <-connected; err != nil {
		return nil, err
	}
	c.in, c.taken = bufio.NewReaderSize(c, readBuffer), p.config.Now()
	return c, p.check(c)
}

func (p *pool) connect(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.dialer.Timeout)
	defer cancel()
	address := p.address
	if p.tunnel != nil {
		address = hostPort(p.tunnel.proxy)
	}
	socket, err := p.dialer.DialContext(ctx, p.network, address)
	if err != nil {
		return nil, err
	}
	c := &conn{pool: p}
	if c.wire, err = newWire(socket.(*net.TCPConn)); err != nil {
		_ = socket.Close()
		return nil, err
	}
	c.wire.now, c.wire.silence = p.config.Now, p.config.IdleTimeout
	if c.Conn, err = p.layers(ctx, c.wire); err != nil {
		_ = socket.Close()
		return nil, err
	}
	return c, nil
}

// layers adds to a wire what runs between it and HTTP: a tunnel, and TLS.
func (p *pool) layers(ctx context.Context, w *wire) (layer net.Conn, err error) {
	layer = w
	if p.tunnel != nil {
		stay := context.AfterFunc(ctx, func() { _ = w.Close() })
		if p.tunnel.proxy.Scheme == "https" {
			w.records = new(records)
		}
		layer, err = p.tunnel.open(ctx, w, p.address)
		if !stay() {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	if p.secure == nil {
		return layer, nil
	}
	if w.records == nil {
		w.records = new(records)
	}
	secure := tls.Client(layer, p.config.Tunnel.trusting(p.secure))
	return secure, secure.HandshakeContext(ctx)
}

// put makes a connection idle. silent is when bytes last arrived on it.
func (p *pool) put(c *conn, silent time.Time) {
	c.idle = silent
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut || len(p.idle) >= idleConns {
		_ = c.Close()
		return
	}
	p.idle = append(p.idle, c)
	if p.prune == nil {
		p.prune = time.AfterFunc(idleConn, p.expire)
	}
}

// expire closes connections that were idle for too long, and runs again while any are left.
func (p *pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	limit := p.config.Now().Add(-idleConn)
	p.idle = slices.DeleteFunc(p.idle, func(c *conn) bool {
		old := !c.idle.After(limit)
		if old {
			_ = c.Close()
		}
		return old
	})
	p.prune = nil
	if len(p.idle) > 0 {
		p.prune = time.AfterFunc(idleConn, p.expire)
	}
}

// close closes the idle connections, and from now on every connection at the end of its exchange.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		_ = c.Close()
	}
	p.idle, p.shut = nil, true
	if p.prune != nil {
		p.prune.Stop()
		p.prune = nil
	}
}
