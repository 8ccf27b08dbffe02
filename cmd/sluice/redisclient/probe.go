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
	probeTime  = time.Second // a probe's least: it may have to dial first, over a slow network
)

// probing marks the calls that may pass an open breaker.
type probing struct{}

// probe looks whether nodes that are away are back, until ctx ends. Each is looked at for itself: one that hangs keeps no
// other away.
func (c *Client) probe(ctx context.Context) {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		c.mu.Lock()
		guards, known := c.guards, c.policy != ""
		c.mu.Unlock()
		if !known {
			c.learn(ctx)
			if err := c.EvictionFault(); err != nil {
				c.config.Log.Error("redis", slog.String("error", err.Error()))
			}
		}
		for _, g := range guards {
			switch closed := g.breaker.State() == gobreaker.StateClosed; {
			case closed && known && g.warm.CompareAndSwap(false, true):
				c.ended.Go(func() { g.timed(ctx, g.warmUp) })
			case !closed && g.looking.CompareAndSwap(false, true):
				c.ended.Go(func() {
					g.timed(ctx, g.look)
					g.looking.Store(false)
				})
			}
		}
	}
}

func (g *guard) timed(ctx context.Context, do func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, max(g.client.config.Timeout, probeTime))
	defer cancel()
	do(ctx)
}

// look asks a node that is away, and closes its breaker where it answers. It writes, because a node that only reads is no
// use. Connections from before are dropped first: one whose packets vanish would hang until the probe's time is over. New
// ones are made before requests need them, because one that has to dial over a slow network fails, and a few of those
// open the breaker again.
func (g *guard) look(ctx context.Context) {
	ctx = context.WithValue(ctx, probing{}, true)
	if g.stale.CompareAndSwap(true, false) {
		g.client.conns.drop(g.address)
	}
	g.answers.Store(false)
	for err := net.ErrClosed; errors.Is(err, net.ErrClosed); { // the library finds out one by one that they are
		err = g.ask(ctx)
	}
	if !g.answers.Load() {
		return
	}
	g.warmUp(ctx)
	g.warm.Store(true)
	_, _ = g.breaker.Execute(func() (struct{}, error) { return struct{}{}, nil })
}

// ask asks the node itself first, where there are several: its key may be another's by now, whose guard hears the answer
// to the write.
func (g *guard) ask(ctx context.Context) error {
	key := g.key.Load()
	if g.node != nil {
		err := g.node.Ping(ctx).Err()
		if errors.Is(err, redis.ErrClosed) { // the client, by the library: the cluster has the node no more
			g.client.forget(g)
		}
		if err != nil || key == nil { // nil: it was asked for nothing but the cluster's slots
			return err
		}
	}
	if key != nil {
		return g.client.Set(ctx, g.client.beside(*key), "", time.Minute).Err()
	}
	return g.client.Ping(ctx).Err()
}

// forget drops the guard of a node that has left.
func (c *Client) forget(gone *guard) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.guards = slices.DeleteFunc(slices.Clone(c.guards), func(g *guard) bool { return g == gone }) // probe may be reading the list
}

// warmUp makes spare connections: who has to make one waits for its first words too, which over a slow network is more
// than a call's time. The library's own spare ones are only dialled.
func (g *guard) warmUp(ctx context.Context) {
	client := g.node
	if client == nil {
		client, _ = g.client.UniversalClient.(*redis.Client)
	}
	if client == nil { // all of a cluster's nodes have guards of their own
		return
	}
	var spare [SpareConnections]*redis.Conn // each is held until all are there, so that none is the same
	var making sync.WaitGroup
	for i := range spare {
		spare[i] = client.Conn()
		making.Go(func() { _ = spare[i].Ping(ctx).Err() })
	}
	making.Wait()
	for _, conn := range spare {
		_ = conn.Close()
	}
}

// beside is a key in the slot of another, for the probe alone.
func (c *Client) beside(key string) string {
	if end := strings.IndexByte(key, '}'); end >= 0 {
		return key[:end+1] + ":probe"
	}
	return c.config.KeyPrefix + "{" + key + "}:probe"
}
