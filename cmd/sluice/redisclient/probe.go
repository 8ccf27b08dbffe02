package redisclient

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

const (
	probeEvery = 250 * time.Millisecond
	probeTime  = time.Second // the least timeout of a probe: it may dial first, over a slow network
)

// probing marks the context of calls that pass an open breaker.
type probing struct{}

// probe probes nodes that are away until ctx ends. It rests while none is.
func (c *Client) probe(ctx context.Context) {
	next := time.NewTimer(probeEvery)
	defer next.Stop()
	for rests := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-c.trouble:
			if !rests { // further trouble must not postpone the next probe
				continue
			}
			rests = false
		case <-next.C:
			rests = !c.probeAll(ctx)
		}
		if !rests {
			next.Reset(probeEvery)
		}
	}
}

// probeAll probes the nodes that are away, and reports whether anything is left to do. Each node has its own goroutine, so one that
// hangs delays no other.
func (c *Client) probeAll(ctx context.Context) (more bool) {
	c.mu.Lock()
	guards, known := c.guards, c.policy != ""
	c.mu.Unlock()
	if !known {
		c.learn(ctx)
		if err := c.EvictionFault(); err != nil {
			c.config.Log.Error("redis", slog.String("error", err.Error()))
		}
	}
	more = !known
	for _, g := range guards {
		switch closed := g.breaker.State() == gobreaker.StateClosed; {
		case closed && known && g.warm.CompareAndSwap(false, true):
			c.ended.Go(func() { g.warmUp(ctx) })
		case !closed && g.probed.CompareAndSwap(false, true):
			c.ended.Go(func() {
				g.tryNode(ctx)
				g.probed.Store(false)
			})
		}
		more = more || g.breaker.State() != gobreaker.StateClosed
	}
	return more
}

// beginProbing wakes the probe for a node that is away or new.
func (c *Client) beginProbing() {
	select {
	case c.trouble <- struct{}{}:
	default: // already notified
	}
}

// tryNode probes a node that is away, and closes its breaker if it answers. It writes, because a read-only node is of no use. It drops
// old connections first: one whose packets vanish would hang until the probe's timeout. It opens new connections in advance, because over
// a slow network that takes several times as long as a call.
func (g *guard) tryNode(ctx context.Context) {
	probe := context.WithValue(ctx, probing{}, true)
	if g.stale.CompareAndSwap(true, false) {
		g.drop()
	}
	g.answers.Store(false)
	for err := net.ErrClosed; errors.Is(err, net.ErrClosed); { // the library finds the dropped connections one by one
		err = g.probeNode(probe)
	}
	if !g.answers.Load() {
		return
	}
	g.warmUp(probe)
	g.warm.Store(true)
	_, _ = g.breaker.Execute(func() (struct{}, error) { return struct{}{}, nil })
}

// probeNode first pings the node itself, if there are several: the key may have moved to another node, whose guard then sees the reply to
// the write.
func (g *guard) probeNode(ctx context.Context) error {
	key := g.key.Load()
	if g.node != nil {
		err := g.node.Ping(ctx).Err()
		if errors.Is(err, redis.ErrClosed) { // the library closed the node's client: the node has left the cluster
			g.client.forget(g)
		}
		if err != nil || key == nil { // nil: it only answered for the cluster's slots
			return err
		}
	}
	if key != nil {
		return g.client.Set(ctx, g.client.beside(*key), "", time.Minute).Err()
	}
	return g.client.Ping(ctx).Err()
}

// forget removes the guard of a node that has left.
func (c *Client) forget(gone *guard) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// cloned, because probe may be reading the list
	c.guards = slices.DeleteFunc(slices.Clone(c.guards), func(g *guard) bool { return g == gone })
}

// warmUp opens spare connections with their first commands done. The library's own spare connections are only dialled.
func (g *guard) warmUp(ctx context.Context) {
	client := g.pooled()
	if client == nil {
		return
	}
	spare := make([]*redis.Conn, g.places.begin(g.client.spare)) // all are held until the last is open, so that all differ
	var ready sync.WaitGroup
	for i := range spare {
		spare[i] = client.Conn()
		ready.Go(func() { _ = spare[i].Ping(context.WithValue(ctx, making{}, true)).Err() })
	}
	ready.Wait()
	for _, conn := range spare {
		_ = conn.Close()
	}
	g.places.made(len(spare), int(client.PoolStats().TotalConns))
}

// connect opens one connection and leaves it in the pool.
func (g *guard) connect() error {
	client := g.pooled()
	if client == nil {
		return nil
	}
	conn := client.Conn()
	defer func() { _ = conn.Close() }()
	return conn.Ping(context.WithValue(context.Background(), making{}, true)).Err()
}

// pooled returns the client of the guard's node; nil: the guard is of a cluster as a whole.
func (g *guard) pooled() *redis.Client {
	if g.node != nil {
		return g.node
	}
	client, _ := g.client.UniversalClient.(*redis.Client)
	return client
}

// drop closes the connections to the node.
func (g *guard) drop() {
	g.client.conns.drop(g.address)
	g.places.drop()
}

// beside returns a key in the slot of another key, only for the probe.
func (c *Client) beside(key string) string {
	if end := strings.IndexByte(key, '}'); end >= 0 {
		return key[:end+1] + ":probe"
	}
	return c.config.KeyPrefix + "{" + key + "}:probe"
}

// quietLog logs the library's messages, at most one line a second: each failed connection causes one. It leaves out their arguments,
// because a server's error may quote what was sent.
type quietLog struct {
	log  *slog.Logger
	mu   sync.Mutex
	last time.Time
	more int
}

// Printf implements the library's interface.
func (q *quietLog) Printf(_ context.Context, format string, _ ...any) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.last) < time.Second {
		q.more++
		return
	}
	q.last = time.Now()
	q.log.Debug("redis", slog.String("library", strings.TrimSpace(format)), slog.Int("left_out", q.more))
	q.more = 0
}
