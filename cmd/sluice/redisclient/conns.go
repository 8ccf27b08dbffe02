package redisclient

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"
)

// leastDialTime is the least time that one attempt to connect has. It has the operator's timeout if that is longer.
const leastDialTime = 100 * time.Millisecond

// conns are the open connections, so that those to a server that is no longer the master can be dropped.
type conns struct {
	mu   sync.Mutex
	open map[*tracked]string // with the address that each was dialled to
}

type tracked struct {
	net.Conn
	all *conns
}

func (t *tracked) Close() error {
	t.all.mu.Lock()
	delete(t.all.open, t)
	t.all.mu.Unlock()
	return t.Conn.Close()
}

// dialer connects within a time that the caller's deadline may shorten, and remembers the connection.
func (c *conns) dialer(secure bool, timeout time.Duration) func(ctx context.Context, network, address string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: timeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
	dial := plain.DialContext
	if secure {
		dial = (&tls.Dialer{NetDialer: plain, Config: &tls.Config{MinVersion: tls.VersionTLS12}}).DialContext
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
