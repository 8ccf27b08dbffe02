package redisclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// leastDialTime is the least timeout of one step of connecting; the operator's applies if it is longer.
	leastDialTime = 100 * time.Millisecond
	// dialSteps is the most steps of a dial: the sentinel's answer, the connection, and two round trips of TLS.
	dialSteps = 4
)

// conns tracks the open connections, to drop those to a server that is no longer the master.
type conns struct {
	mu   sync.Mutex
	open map[*tracked]string // the dialled address of each
}

type tracked struct {
	net.Conn
	all *conns
}

// lateTime bounds a retry after a timeout that this process itself may have caused.
const lateTime = 5 * time.Millisecond

// Read retries once after a timeout: the reply may have arrived while this process was starved of CPU, and the runtime then
// reports the timeout although the reply is there. Redis was not slow.
func (t *tracked) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	if n == 0 && isTimeout(err) && t.SetReadDeadline(time.Now().Add(lateTime)) == nil {
		n, err = t.Conn.Read(b)
	}
	return n, err
}

// Write retries once if nothing was written at the timeout: it may have expired before the system call.
func (t *tracked) Write(b []byte) (int, error) {
	n, err := t.Conn.Write(b)
	if n == 0 && isTimeout(err) && t.SetWriteDeadline(time.Now().Add(lateTime)) == nil {
		n, err = t.Conn.Write(b)
	}
	return n, err
}

// Close closes the connection and removes it from conns.
func (t *tracked) Close() error {
	t.all.mu.Lock()
	delete(t.all.open, t)
	t.all.mu.Unlock()
	return t.Conn.Close()
}

// dialer returns a dial function that bounds each step by timeout and tracks the connection. Under TLS it trusts the current roots.
func (c *conns) dialer(secure bool, roots func() *x509.CertPool, timeout time.Duration) func(ctx context.Context,
	network, address string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: timeout, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second,
		Interval: 5 * time.Second, Count: 3,
	}}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return connected(ctx, plain, network, address)
	}
	if secure {
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			return secured(ctx, plain, network, address, roots())
		}
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		t := &tracked{Conn: conn, all: c}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open == nil {
			c.open = map[*tracked]string{}
		}
		c.open[t] = address
		return t, nil
	}
}

// connected connects. It retries once if the timeout fired late: then this process was starved of CPU, and Redis may have accepted the
// connection in time.
func connected(ctx context.Context, plain *net.Dialer, network, address string) (net.Conn, error) {
	begun := time.Now()
	conn, err := plain.DialContext(ctx, network, address)
	if err != nil && isTimeout(err) && time.Since(begun) > plain.Timeout*5/4 {
		conn, err = plain.DialContext(ctx, network, address)
	}
	return conn, err
}

// secured connects and then shakes hands, which takes two round trips at most.
func secured(ctx context.Context, plain *net.Dialer, network, address string, roots *x509.CertPool) (net.Conn, error) {
	conn, err := connected(ctx, plain, network, address)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err == nil {
		secure := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: roots})
		limited, cancel := context.WithTimeout(ctx, 2*plain.Timeout)
		defer cancel()
		if err = secure.HandshakeContext(limited); err == nil {
			return secure, nil
		}
		if isTimeout(err) {
			err = late(fmt.Sprintf("no TLS handshake within %s", 2*plain.Timeout))
		}
	}
	_ = conn.Close()
	return nil, err
}

// drop closes the connections to an address, or all if it is empty. Calls under way on them fail; the next call dials anew.
func (c *conns) drop(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t, to := range c.open {
		if address == "" || to == address {
			_ = t.Conn.Close()
		}
	}
}

// callTimeout bounds every call. Most have a deadline of their own, which is much shorter.
const callTimeout = 3 * time.Second

// late is the error of a step of connecting that took too long. It implements net.Error.
type late string

func (l late) Error() string { return string(l) }

// Timeout is true.
func (late) Timeout() bool { return true }

// Temporary is true.
func (late) Temporary() bool { return true }

func isTimeout(err error) bool {
	failed, ok := errors.AsType[net.Error](err)
	return ok && failed.Timeout()
}

// call is the context of one call of Redis. Its time begins when the library first asks for the deadline, which it does when it sends:
// the time to connect does not count against Redis. The library checks nothing else while it waits for the reply.
type call struct {
	context.Context // for its values
	lasts           time.Duration
	until           atomic.Int64 // in Unix nanoseconds; 0: not sent yet
}

// lasting returns the context of a call that may take d.
func lasting(parent context.Context, d time.Duration) *call { return &call{Context: parent, lasts: d} }

// timeOf returns how long a call may take without the wait for a connection: the caller's remaining time, but at least least. So a
// caller's deadline ends a sequence of calls without cutting one short.
func timeOf(ctx context.Context, least time.Duration) time.Duration {
	if until, bounded := ctx.Deadline(); bounded {
		return max(time.Until(until), least)
	}
	return callTimeout
}

// Deadline returns when Redis's time expires.
func (c *call) Deadline() (time.Time, bool) {
	now := time.Now()
	c.until.CompareAndSwap(0, now.Add(c.lasts).UnixNano())
	return now.Add(time.Duration(c.until.Load() - now.UnixNano())), true // of the monotonic clock
}

// Done returns nil: the library cannot cancel a call that it has begun.
func (*call) Done() <-chan struct{} { return nil }

// Err returns nil, like Done.
func (*call) Err() error { return nil }

// connecting marks the context of a new connection's first calls: they need no place and pass the breaker.
type connecting struct{}

// making marks the context of a call that opens a connection.
type making struct{}
