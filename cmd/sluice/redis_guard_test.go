package main

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

// F-R2: callers whose time is over when they ask say nothing of the node: the breaker stays closed for all.
func TestFR2ExpiredCallersOpenNoBreaker(t *testing.T) {
	k := openReplica(t, startRedis(t).url(), nil)
	k.eventually(patience, "connected", func() bool { return k.spend(1) })
	over, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	for range 2 * failuresInRow {
		if err := k.state.Get(over, "sl1:{search}:x").Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("asked: %v", err)
		}
	}
	if now := k.state.guards[0].breaker.State(); now != gobreaker.StateClosed {
		t.Errorf("the breaker is %v", now)
	}
}

// F-R5: after an outage in which packets vanished the breaker closes, and requests reach Redis, also where a round trip
// takes most of the timeout, although every connection has to be made anew.
func TestFR5BackOverASlowNetwork(t *testing.T) {
	server := startRedis(t)
	proxy := proxied(t, server)
	k := openReplica(t, "redis://"+proxy.Listen, func(s *settings) { s.RedisTimeout = 100 * time.Millisecond }, generous)
	k.eventually(patience, "connected", func() bool { return k.spend(10) })
	k.eventually(patience, "spare connections", func() bool { return connectionsOf(t, server.do("INFO", "stats").(string)) >= redisSpare })
	toxic(t, proxy, `{"name":"slow","type":"latency","stream":"downstream","attributes":{"latency":60,"jitter":0}}`)
	toxic(t, proxy, `{"name":"hole","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`)
	breaker := k.state.guards[0].breaker
	k.eventually(patience, "the breaker opens", func() bool { k.loaded(during(100 * time.Millisecond)); return breaker.State() != gobreaker.StateClosed })
	_ = proxy.Toxics.RemoveToxic(t.Context(), "hole")
	closed := k.eventually(patience, "the breaker closes", func() bool { return breaker.State() == gobreaker.StateClosed })
	t.Logf("closed after %v", closed)
	k.eventually(patience, "back", k.well)
	inRow := 0
	k.eventually(patience, "five requests in a row are admitted by Redis", func() bool { // a hiccup of the machine may cost one its time
		if v, err := k.admit(10); err == nil && v.Held != nil && !k.Degraded() {
			inRow++
		} else {
			inRow = 0
		}
		return inRow == 5
	})
}

// F-K2: nodes that hang keep no other node away: it is back while they are still being looked at.
func TestFK2NodesAreLookedAtAlone(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // it never answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	server := startRedis(t)
	k := openReplica(t, server.url(), func(s *settings) { s.RedisTimeout = 2 * patience }) // a look lasts as long
	var hang []*guard
	var last *guard
	for _, address := range []string{listener.Addr().String(), listener.Addr().String(), listener.Addr().String(), listener.Addr().String(), server.address()} {
		node := redis.NewClient(&redis.Options{Addr: address, Protocol: 2, MaxRetries: -1, PoolSize: redisPool, ReadTimeout: 2 * patience, ContextTimeoutEnabled: true, DisableIdentity: true})
		t.Cleanup(func() { _ = node.Close() })
		hang, last = append(hang, last), k.state.newGuard(node)
		node.AddHook(last)
		for range failuresInRow {
			_, _ = last.breaker.Execute(func() (struct{}, error) { return struct{}{}, errors.New("lost") })
		}
	}
	closed := k.eventually(patience, "the breaker closes", func() bool { return last.breaker.State() == gobreaker.StateClosed })
	t.Logf("closed after %v", closed)
	for n, g := range hang[1:] {
		if !g.looking.Load() || g.breaker.State() == gobreaker.StateClosed {
			t.Errorf("node %d is not being looked at, or does not hang", n)
		}
	}
}

// A node whose keys are another's now is looked at for itself: its breaker closes where it answers, and its guard is
// dropped where it has left the cluster.
func TestGuardOfANodeWithoutItsKeys(t *testing.T) {
	k := openReplica(t, startRedis(t).url(), nil) // the other, which has them
	guardOf := func(address string) (*redis.Client, *guard) {
		node := redis.NewClient(&redis.Options{Addr: address, Protocol: 2, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true})
		g := k.state.newGuard(node)
		node.AddHook(g)
		key := "sl1:{search}:quota"
		g.key.Store(&key)
		for range failuresInRow {
			_, _ = g.breaker.Execute(func() (struct{}, error) { return struct{}{}, errors.New("lost") })
		}
		return node, g
	}
	stays, empty := guardOf(startRedis(t).address())
	t.Cleanup(func() { _ = stays.Close() })
	leaves, left := guardOf(stays.Options().Addr)
	_ = leaves.Close() // as the library does with one that the cluster has no more
	k.eventually(patience, "the breaker closes", func() bool { return empty.breaker.State() == gobreaker.StateClosed })
	k.eventually(patience, "the guard is dropped", func() bool {
		k.state.mu.Lock()
		defer k.state.mu.Unlock()
		return len(k.state.guards) == 2 && !slices.Contains(k.state.guards, left)
	})
}
