package redisclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// leastDialTime is the least time that one step of connecting has. It has the operator's timeout if that is longer.
	leastDialTime = 100 * time.Millisecond
	// dialSteps is how many there are at most: a sentinel tells the master's address, the connection, and two round trips of TLS.
	dialSteps = 4
)

// conns are the open connections, so that those to a server that is no longer the master can be dropped.
type conns struct {
	mu   sync.Mutex
	open map[*tracked]string // with the address that each was dialled to
}

type tracked struct {
	net.Conn
	all *conns
}

// lateTime is how long is tried once more when the time is over and this process may have been late itself.
const lateTime = 5 * time.Millisecond

// Read looks once more when the time is over: the reply may have come while this process had no processor to read it, and the runtime
// then reports the timeout although the reply is there. That is not Redis's slowness.
func (t *tracked) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	if n == 0 && isTimeout(err) && t.SetReadDeadline(time.Now().Add(lateTime)) == nil {
		n, err = t.Conn.Read(b)
	}
	return n, err
}

// Write tries once more if nothing was written when the time was over: it may have been over before the system was asked.
func (t *tracked) Write(b []byte) (int, error) {
	n, err := t.Conn.Write(b)
	if n == 0 && isTimeout(err) && t.SetWriteDeadline(time.Now().Add(lateTime)) == nil {
		n, err = t.Conn.Write(b)
	}
	return n, err
}

// Close forgets the connection.
func (t *tracked) Close() error {
	t.all.mu.Lock()
	delete(t.all.open, t)
	t.all.mu.Unlock()
	return t.Conn.Close()
}

// dialer connects, each step within a time, and remembers the connection.
func (c *conns) dialer(secure bool, timeout time.Duration) func(ctx context.Context, network, address string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: timeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return connected(ctx, plain, network, address)
	}
	if secure {
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			return secured(ctx, plain, network, address)
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

// connected connects. It tries once more if the timeout came late: then this process had no processor for so long, and Redis may have
// accepted the connection in time.
func connected(ctx context.Context, plain *net.Dialer, network, address string) (net.Conn, error) {
	begun := time.Now()
	conn, err := plain.DialContext(ctx, network, address)
	if err != nil && isTimeout(err) && time.Since(begun) > plain.Timeout*5/4 {
		conn, err = plain.DialContext(ctx, network, address)
	}
	return conn, err
}

// secured connects and then shakes hands, which takes two round trips at most.
func secured(ctx context.Context, plain *net.Dialer, network, address string) (net.Conn, error) {
	conn, err := connected(ctx, plain, network, address)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err == nil {
		secure := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host})
		limited, cancel := context.WithTimeout(ctx, 2*plain.Timeout)
		defer cancel()
		if err = secure.HandshakeContext(limited); err == nil {
			return secure, nil
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

func isTimeout(err error) bool {
	failed, ok := errors.AsType[net.Error](err)
	return ok && failed.Timeout()
}

// call is the context of one call of Redis. Its time begins when the library first asks for the deadline, which it does to send: a
// connection that has to be made before is not Redis's slowness. The library looks at nothing else while it waits for the reply.
type call struct {
	context.Context // for its values
	lasts           time.Duration
	until           atomic.Int64 // in Unix nanoseconds; 0: nothing was sent yet
}

// lasting returns the context of a call that may take so long.
func lasting(parent context.Context, d time.Duration) *call { return &call{Context: parent, lasts: d} }

// timeOf is how long a call may take: as long as its caller still has when it asks, however long it waits for a connection, and at least
// least. So a caller's deadline ends a sequence of calls, and shortens none of them.
func timeOf(ctx context.Context, least time.Duration) time.Duration {
	if until, bounded := ctx.Deadline(); bounded {
		return max(time.Until(until), least)
	}
	return callTimeout
}

// Deadline is the moment at which Redis's time is over.
func (c *call) Deadline() (time.Time, bool) {
	now := time.Now()
	c.until.CompareAndSwap(0, now.Add(c.lasts).UnixNano())
	return now.Add(time.Duration(c.until.Load() - now.UnixNano())), true // of the monotonic clock
}

// Done is nil: the library takes no call back that it has begun.
func (*call) Done() <-chan struct{} { return nil }

// Err is nil, as Done.
func (*call) Err() error { return nil }

// connecting marks in a context the calls of a connection that is being made, which no place and no breaker holds up.
type connecting struct{}

// making marks in a context the call that makes a connection.
type making struct{}
