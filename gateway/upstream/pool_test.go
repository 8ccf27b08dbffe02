//go:build unix

package upstream

import (
	"net"
	"net/url"
	"testing"
	"time"
)

// A connection is closed by the time since upstream last sent something on it, in whatever order connections were returned.
func TestPoolExpiresByAge(t *testing.T) {
	now := time.Now()
	p := &pool{config: &Config{Now: func() time.Time { return now }}}
	defer p.close()
	for _, silent := range []time.Duration{0, 2 * idleConn, idleConn / 2, idleConn} {
		near, far := net.Pipe()
		defer func() { _ = far.Close() }()
		p.put(&conn{Conn: near}, now.Add(-silent))
	}
	p.expire()
	if n := len(p.idle); n != 2 {
		t.Errorf("%d wait, want the two that are young", n)
	}
	for _, c := range p.idle {
		if now.Sub(c.idle) >= idleConn {
			t.Errorf("one that is %v old waits", now.Sub(c.idle))
		}
	}
}

// A connection that is too old carries no request. expire runs every idleConn, and so closes one at up to twice that age.
func TestPoolGivesNoneThatIsTooOld(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	now := time.Now()
	p := newPool(&Config{
		URL: &url.URL{Scheme: "http", Host: listener.Addr().String()}, ConnectTimeout: time.Minute, IdleTimeout: time.Minute,
		Now: func() time.Time { return now },
	})
	defer p.close()
	first, err := p.get(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	for _, age := range []time.Duration{idleConn - 1, idleConn} {
		p.put(first, now)
		now = now.Add(age)
		next, err := p.get(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = next.Close() }()
		if again := next == first; again != (age < idleConn) {
			t.Errorf("one that was idle for %v is used: %v", age, again)
		}
	}
}

// A connection on which the service has spoken without a request carries none.
func TestPoolGivesNoneOnWhichTheServiceSpoke(t *testing.T) {
	c, service := connected(t, 0)
	spoke := 0
	c.pool.config.Surplus = func() { spoke++ }
	c.pool.put(c, time.Now())
	service.say("HTTP/1.1 200 OK\r\n\r\n")
	service.flush(0)
	arrived(t, c)
	if again, err := c.pool.get(t.Context(), time.Now()); err == nil || spoke != 1 { // a new one cannot be had here
		t.Errorf("%v is used; the service spoke on %d", again, spoke)
	}
}
