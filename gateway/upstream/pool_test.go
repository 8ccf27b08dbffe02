package upstream

import (
	"net"
	"testing"
	"time"
)

// A connection is closed by the time since upstream last sent something on it, in whatever order connections were returned.
func TestPoolExpiresByAge(t *testing.T) {
	now := time.Now()
	p := &pool{now: func() time.Time { return now }}
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
