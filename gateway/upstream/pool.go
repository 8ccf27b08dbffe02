package upstream

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	// idleConn is how long a connection waits for its next exchange: shorter than load balancers keep them, so that few
	// are closed at the other end when they are used.
	idleConn = 30 * time.Second
	// idleConns is how many wait at most.
	idleConns = 512
)

// pool keeps connections to the one upstream. It follows no proxy from the environment, which would be handed the key.
type pool struct {
	network string
	address string
	secure  *tls.Config // nil: plain
	dialer  net.Dialer
	now     func() time.Time
	silence time.Duration // the longest that upstream may take no byte of a request
	surplus func()        // counts connections on which upstream said what it was not asked

	mu    sync.Mutex
	idle  []*conn // the one used last at the end
	prune *time.Timer
	shut  bool
}

func newPool(config *Config) *pool {
	p := &pool{
		network: "tcp", address: hostPort(config.URL), now: config.Now, silence: config.IdleTimeout, surplus: config.Surplus,
		dialer: net.Dialer{Timeout: config.ConnectTimeout},
	}
	if config.URL.Scheme == "https" {
		p.secure = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: config.URL.Hostname(), RootCAs: config.Roots, NextProtos: []string{"http/1.1"}}
	}
	return p
}

func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "https" {
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

// get returns a connection that waited and can carry a request, or a new one. now is when the exchange begins.
func (p *pool) get(now time.Time) (*conn, error) {
	for {
		c := p.last()
		if c == nil {
			return p.dial()
		}
		if c.taken = now; p.check(c) == nil {
			return c, nil
		}
	}
}

// check looks at a connection before a request goes out on it, and closes one that cannot carry it.
func (p *pool) check(c *conn) error {
	err := c.look()
	if err == errSurplus {
		p.surplus()
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

// dial connects, and under TLS knows whom it talks to, before anything of a request is written.
func (p *pool) dial() (*conn, error) {
	c, err := p.connect()
	if err != nil {
		return nil, err
	}
	c.in, c.taken = bufio.NewReaderSize(c, readBuffer), p.now()
	return c, p.check(c)
}

func (p *pool) connect() (*conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), p.dialer.Timeout)
	defer cancel()
	socket, err := p.dialer.DialContext(ctx, p.network, p.address)
	if err != nil {
		return nil, err
	}
	c := &conn{pool: p}
	if c.wire, err = newWire(socket.(*net.TCPConn), p); err != nil {
		_ = socket.Close()
		return nil, err
	}
	if c.Conn = c.wire; p.secure == nil {
		return c, nil
	}
	secure := tls.Client(c.wire, p.secure)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = socket.Close()
		return nil, err
	}
	c.Conn = secure
	return c, nil
}

// put lets a connection wait for its next exchange. silent is since when upstream has been silent on it.
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

// expire closes what has waited too long, and comes back while anything waits.
func (p *pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	limit := p.now().Add(-idleConn)
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

// close closes every connection that waits, and from now on each one whose exchange ends.
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
