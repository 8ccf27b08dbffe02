package redisclient

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

// Expired callers do not count against the node: the breaker stays closed.
func TestExpiredCallersOpenNoBreaker(t *testing.T) {
	c := open(t, startRedis(t), patience)
	eventually(t, "connected", func() bool { return c.Ping(t.Context()).Err() == nil })
	over, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	for range 2 * failuresInRow {
		if err := c.Get(over, "sl1:{search}:x").Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("asked: %v", err)
		}
	}
	if now := c.guards[0].breaker.State(); now != gobreaker.StateClosed {
		t.Errorf("the breaker is %v", now)
	}
}

// Hanging nodes do not delay others: a node is back while they are still being probed.
func TestNodesAreLookedAtAlone(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // it never answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	server := startRedis(t)
	c := open(t, server, 2*patience) // as long as a probe lasts
	var hang []*guard
	var last *guard
	for _, address := range []string{listener.Addr().String(), listener.Addr().String(), listener.Addr().String(), listener.Addr().String(),
		server} {
		node := redis.NewClient(&redis.Options{Addr: address, Protocol: 2, MaxRetries: -1, PoolSize: PoolSize, ReadTimeout: 2 * patience,
			ContextTimeoutEnabled: true, DisableIdentity: true})
		t.Cleanup(func() { _ = node.Close() })
		hang, last = append(hang, last), c.newGuard(node)
		node.AddHook(last)
		for range failuresInRow {
			_, _ = last.breaker.Execute(func() (struct{}, error) { return struct{}{}, errors.New("lost") })
		}
	}
	eventually(t, "the breaker closes", func() bool { return last.breaker.State() == gobreaker.StateClosed })
	for n, g := range hang[1:] {
		if !g.probed.Load() || g.breaker.State() == gobreaker.StateClosed {
			t.Errorf("node %d is not being probed, or does not hang", n)
		}
	}
}

// A node that lost its keys to another is probed itself: its breaker closes if it answers, and its guard is dropped if it
// has left the cluster.
func TestGuardOfANodeWithoutItsKeys(t *testing.T) {
	c := open(t, startRedis(t), patience) // the other node, which has them
	guardOf := func(address string) (*redis.Client, *guard) {
		node := redis.NewClient(&redis.Options{Addr: address, Protocol: 2, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true,
			PoolSize: PoolSize})
		g := c.newGuard(node)
		node.AddHook(g)
		key := "sl1:{search}:quota"
		g.key.Store(&key)
		for range failuresInRow {
			_, _ = g.breaker.Execute(func() (struct{}, error) { return struct{}{}, errors.New("lost") })
		}
		return node, g
	}
	stays, empty := guardOf(startRedis(t))
	t.Cleanup(func() { _ = stays.Close() })
	leaves, left := guardOf(stays.Options().Addr)
	_ = leaves.Close() // as the library does with a node that has left the cluster
	eventually(t, "the breaker closes", func() bool { return empty.breaker.State() == gobreaker.StateClosed })
	eventually(t, "the guard is dropped", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.guards) == 2 && !slices.Contains(c.guards, left)
	})
}

// The probe rests while all is well, and looks again when a breaker opens.
func TestProbeRests(t *testing.T) {
	c := open(t, startRedis(t), patience)
	eventually(t, "all is well", func() bool { return !c.probeAll(t.Context()) })
	time.Sleep(2 * probeEvery) // if it rests only later, the test shows nothing
	g := c.guards[0]
	for range failuresInRow {
		_, _ = g.breaker.Execute(func() (struct{}, error) { return struct{}{}, errors.New("lost") })
	}
	eventually(t, "the breaker closes", func() bool { return g.breaker.State() == gobreaker.StateClosed })
}

// Calls that time out one after another must open the breaker before the window ends and forgets them.
func TestFailuresInRowFitIntoTheWindow(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		50 * time.Millisecond: breakerWindow, 250 * time.Millisecond: 2500 * time.Millisecond, time.Second: 10 * time.Second,
	} {
		if got := windowOf(timeout); got != want || got < failuresInRow*timeout {
			t.Errorf("a timeout of %v: a window of %v, want %v", timeout, got, want)
		}
	}
}
