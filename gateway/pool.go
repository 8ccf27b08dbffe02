package gateway

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
	// fresh is how long a connection is taken to be open without a look. A service that means to close one says so in the
	// answer before.
	fresh = 5 * time.Millisecond
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
	stall   time.Duration // the longest that one write waits for upstream to read

	mu    sync.Mutex
	idle  []*conn // the one used last at the end
	prune *time.Timer
	shut  bool
}

func newPool(config *Config, now func() time.Time) *pool {
	p := &pool{
		network: "tcp", address: hostPort(config.UpstreamURL), now: now, stall: config.IdleTimeout,
		dialer: net.Dialer{Timeout: config.ConnectTimeout},
	}
	if config.UpstreamURL.Scheme == "https" {
		p.secure = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: config.UpstreamURL.Hostname(), NextProtos: []string{"http/1.1"}}
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

// get returns a connection that waited and is still open, or a new one. now is when the exchange begins.
func (p *pool) get(now time.Time) (*conn, error) {
	for {
		c := p.last()
		if c == nil {
			return p.dial()
		}
		c.taken = now
		if c.taken.Sub(c.idle) < fresh || c.alive() {
			return c, nil
		}
		_ = c.Close() // upstream has closed it
	}
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
	ctx, cancel := context.WithTimeout(context.Background(), p.dialer.Timeout)
	defer cancel()
	plain, err := p.dialer.DialContext(ctx, p.network, p.address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: plain, pool: p}
	if c.raw, err = plain.(*net.TCPConn).SyscallConn(); err != nil {
		_ = plain.Close()
		return nil, err
	}
	if p.secure != nil {
		secure := tls.Client(plain, p.secure)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = plain.Close()
			return nil, err
		}
		c.Conn = secure
	}
	c.in, c.taken = bufio.NewReaderSize(c, readBuffer), p.now()
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

// drop closes every connection that waits.
func (p *pool) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		_ = c.Close()
	}
	p.idle = nil
}

// close closes every connection that waits, and from now on each one whose exchange ends.
func (p *pool) close() {
	p.drop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = true
	if p.prune != nil {
		p.prune.Stop()
		p.prune = nil
	}
}
