package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/cmd/sluice/redisclient"
	"sluice/cmd/sluice/settings"
	"sluice/policy/limit"
)

// Redis is slow, within the timeout. It works, and the connections live. The effect with the default timeout: LONG=1
// go test -v -run FR3 ./cmd/sluice; otherwise the timeout is longer than any hiccup of a busy machine.
func TestRedisIsSlow(t *testing.T) {
	server := startRedis(t)
	proxy := proxied(t, server)
	k := openReplica(t, "redis://"+proxy.Listen, func(s *settings.Settings) {
		if !isLong() {
			s.RedisTimeout = 2 * time.Second
		}
	}, generous)
	k.loaded(during(300 * time.Millisecond))
	k.eventually(patience, "spare connections", func() bool {
		return connectionsOf(t, server.do("INFO", "stats").(string)) >= redisclient.SpareConnections
	})
	calls := &callCount{}
	k.redis.AddHook(calls)
	before, begun := server.do("INFO", "stats").(string), time.Now()
	toxic(t, proxy, `{"name":"slow","type":"latency","stream":"downstream","attributes":{"latency":20,"jitter":20}}`)
	l := k.loaded(during(3 * time.Second))
	opened := connectionsOf(t, server.do("INFO", "stats").(string)) - connectionsOf(t, before)
	asked, failed := calls.asked.Load(), calls.failed.Load()
	k.eventually(patience, "well", k.well) // a call that was slightly too slow is repaired
	if k.log.count("Redis is away") > 0 {
		t.Errorf("slow counts as away:\n%s", k.log.text())
	}
	if slow := percentile(l.took, 0.9); slow < 20*time.Millisecond {
		t.Errorf("p90 is %v: Redis was not slow", slow)
	}
	if l.passed*100 < len(l.took)*99 {
		t.Errorf("%d of %d requests were admitted, fewer than 99 in a hundred", l.passed, len(l.took))
	}
	if failed*100 > asked || asked < int64(len(l.took))/10 { // several share one
		t.Errorf("%d of %d calls of Redis failed, more than 1 in a hundred, or too few were made for %d requests", failed, asked, len(l.took))
	}
	t.Logf("%d requests, %d admitted, %d of %d calls of Redis failed, p99 %v, %d new connections", len(l.took), l.passed, failed, asked,
		percentile(l.took, 0.99), opened)
	// the pool, once, and 5 a second
	if most := redisclient.PoolSize - redisclient.SpareConnections + 5*int(time.Since(begun)/time.Second); opened > most {
		t.Errorf("%d connections were opened, want at most %d", opened, most)
	}
}

func connectionsOf(t *testing.T, info string) (n int) {
	t.Helper()
	_, rest, _ := strings.Cut(info, "total_connections_received:")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// callCount counts the calls of Redis, without those of probes, and those without a reply in time.
type callCount struct{ asked, failed atomic.Int64 }

func (c *callCount) count(cmd redis.Cmder, call func() error) error {
	if args := cmd.Args(); cmd.Name() == "ping" || cmd.Name() == "hello" || len(args) > 1 && strings.HasSuffix(fmt.Sprint(args[1]), ":probe") {
		return call()
	}
	c.asked.Add(1)
	err := call()
	if err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "NOSCRIPT") {
		c.failed.Add(1)
	}
	return err
}

// DialHook does not change dialling.
func (c *callCount) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook counts a call.
func (c *callCount) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return c.count(cmd, func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook counts the calls of one round trip as one.
func (c *callCount) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return c.count(cmds[0], func() error { return next(ctx, cmds) })
	}
}

// A Redis that takes 80 ms for a while, as on a busy machine, still decides: with default settings nothing is admitted
// outside the shared limits.
func TestAHiccupAdmitsNothingOutsideTheLimits(t *testing.T) {
	server := startRedis(t)
	proxy := proxied(t, server)
	var keepers []*ledgerkeeper
	for n := range 2 {
		k := openReplica(t, "redis://"+proxy.Listen, nil, "rates: {requests: {per: 1h, limit: 30}}")
		k.eventually(patience, "connected", func() bool { _, err := k.Look(t.Context(), k.team); return err == nil && k.well() })
		k.eventually(patience, "spare connections", func() bool {
			return connectionsOf(t, server.do("INFO", "stats").(string)) >= (n+1)*redisclient.SpareConnections
		})
		keepers = append(keepers, k)
	}
	toxic(t, proxy, `{"name":"slow","type":"latency","stream":"downstream","attributes":{"latency":80,"jitter":0}}`)
	var admitted, refused, late atomic.Int64
	var asking sync.WaitGroup
	for n := range 40 {
		asking.Go(func() {
			begun := time.Now()
			v, err := keepers[n%2].admit(1)
			if err != nil {
				t.Error(err)
			}
			if time.Since(begun) >= 250*time.Millisecond {
				late.Add(1)
			}
			if v.Held != nil {
				admitted.Add(1)
			} else {
				refused.Add(1)
			}
		})
	}
	asking.Wait()
	if late.Load() > 0 {
		t.Skipf("this machine made %d requests wait for longer than the timeout, which another test covers", late.Load())
	}
	if admitted.Load() != 30 || refused.Load() != 10 {
		t.Errorf("%d of 30 admitted, %d refused", admitted.Load(), refused.Load())
	}
}

// TestASlowNetworkAnswers: a round trip takes a third of the timeout, and making a connection more than all of it. Redis decides
// every request, also the first ones, and never counts as away. With LONG=1 a round trip takes 150 ms of the default 250, the
// test runs longer, and most requests take at most two round trips.
func TestASlowNetworkAnswers(t *testing.T) {
	trip, timeout, lasts := 250*time.Millisecond, 750*time.Millisecond, 4*time.Second
	if isLong() {
		trip, timeout, lasts = 150*time.Millisecond, 250*time.Millisecond, 30*time.Second
	}
	server := startRedis(t)
	proxy := proxied(t, server)
	toxic(t, proxy, fmt.Sprintf(`{"name":"slow","type":"latency","stream":"downstream","attributes":{"latency":%d,"jitter":0}}`,
		trip.Milliseconds()))
	k := openReplica(t, "redis://"+proxy.Listen, func(s *settings.Settings) { s.RedisTimeout = timeout }, generous)
	const workers = 32
	var l load
	var refused, local, degraded int
	var mu sync.Mutex
	var asking sync.WaitGroup
	over := during(lasts)
	for range workers {
		asking.Go(func() {
			for over.Err() == nil {
				begun := time.Now()
				v, err := k.admit(10)
				mu.Lock()
				l.took = append(l.took, time.Since(begun))
				switch {
				case err != nil || v.Held == nil:
					if refused++; refused < 3 {
						t.Logf("a request was refused: %v %+v", err, v)
					}
				case v.Held.Local:
					local++
				}
				if k.Degraded() {
					degraded++
				}
				mu.Unlock()
				if v.Held != nil {
					k.SettleLater(&limit.Charge{Held: v.Held, Team: k.team, Amounts: v.Held.Amounts})
				}
			}
		})
	}
	asking.Wait()
	t.Logf("%d requests: %d refused, %d admitted without Redis, %d in a degraded state; p50 %v, p99 %v", len(l.took), refused, local,
		degraded, percentile(l.took, 0.5), percentile(l.took, 0.99))
	if len(l.took) < 2*workers || 1000*refused > len(l.took) || 1000*local > len(l.took) || 1000*degraded > len(l.took) {
		t.Errorf("of %d requests %d were refused, %d admitted without Redis, %d in a degraded state:\n%s", len(l.took), refused, local, degraded,
			k.log.text())
	}
	if isLong() && percentile(l.took, 0.5) > 2*trip {
		t.Errorf("p50 %v, more than two round trips", percentile(l.took, 0.5))
	}
	if k.log.count("Redis is away") > 0 {
		t.Errorf("slow counts as away:\n%s", k.log.text())
	}
}
