package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/cmd/sluice/redisclient"
	"sluice/cmd/sluice/settings"
	"sluice/policy/limit"
)

// load is the result of requests at a replica.
type load struct {
	took   []time.Duration // each request
	waited []time.Duration // the control: a wait of the timeout that began with each, on this machine at that moment
	passed int
}

// loaded sends 500 requests a second for a while.
func (k *ledgerkeeper) loaded(ctx context.Context) load { return k.loadedBeside(ctx, 0) }

// loadedBeside is loaded with a control that waits that long beside each request; 0: none.
func (k *ledgerkeeper) loadedBeside(ctx context.Context, control time.Duration) (l load) {
	var mu sync.Mutex
	var asking sync.WaitGroup
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		begun := time.Now()
		asking.Go(func() {
			ok := k.spend(10)
			mu.Lock()
			defer mu.Unlock()
			l.took = append(l.took, time.Since(begun))
			if ok {
				l.passed++
			}
		})
		if control > 0 {
			asking.Go(func() {
				time.Sleep(control)
				mu.Lock()
				defer mu.Unlock()
				l.waited = append(l.waited, time.Since(begun))
			})
		}
		<-tick.C
	}
	asking.Wait()
	return l
}

// breakerOpen reports whether the breaker of the single Redis node is open.
func (k *ledgerkeeper) breakerOpen() bool {
	ctx, cancel := context.WithTimeout(context.Background(), k.timeout)
	defer cancel()
	return errors.Is(k.redis.Exists(ctx, "sl1:{search}:none").Err(), limit.ErrAway)
}

// percentile returns a percentile of durations, which it sorts.
func percentile(list []time.Duration, p float64) time.Duration {
	slices.Sort(list)
	return list[min(int(float64(len(list))*p), len(list)-1)]
}

func during(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	_ = cancel
	return ctx
}

// outlasts loads a replica whose Redis has just stopped answering, and returns how many requests it admitted. No request
// waits longer than the timeouts of its calls; once the breaker is open none calls Redis, and none waits. LONG=1 checks the figures.
func (k *ledgerkeeper) outlasts() (admitted int) {
	k.Helper()
	calls := &callCount{}
	k.redis.AddHook(calls)
	first := k.loadedBeside(during(time.Second), k.timeout)
	k.eventually(patience, "the breaker is open", func() bool {
		return k.Degraded() && k.breakerOpen()
	})
	asked := calls.asked.Load()
	later := k.loadedBeside(during(time.Second), k.timeout)
	if asked == 0 || calls.asked.Load() != asked {
		k.Errorf("Redis was called %d times before the breaker opened, and %d times more", asked, calls.asked.Load()-asked)
	}
	a, b := percentile(first.took, 0.99), percentile(later.took, 0.99)
	waitedA, waitedB := percentile(first.waited, 0.99), percentile(later.waited, 0.99)
	k.Logf("p99 %v in the first second, when the timeout took %v; %v later, when it took %v", a, waitedA, b, waitedB)
	if a > 3*waitedA || b >= waitedB { // a request may make two calls, each with its own timeout, before the breaker is open
		k.Errorf("p99 %v in the first second, when the timeout took %v; %v later, when it took %v", a, waitedA, b, waitedB)
	}
	if isLong() && (a > (k.timeout+10*time.Millisecond)*slack || b > 2*time.Millisecond*slack) {
		k.Errorf("p99 %v in the first second, %v later", a, b)
	}
	if first.passed < len(first.took) || later.passed < len(later.took) {
		k.Errorf("%d of %d were admitted in the first second, %d of %d later", first.passed, len(first.took), later.passed, len(later.took))
	}
	return first.passed + later.passed
}

// Redis hangs. No request waits longer than the timeout, and none waits once the breaker is open.
func TestRedisHangs(t *testing.T) {
	server := startRedis(t)
	k := openReplica(t, server.url(), nil, generous)
	before := k.loaded(during(200 * time.Millisecond)).passed
	k.prepared()
	server.signal(syscall.SIGSTOP)
	admitted := int64(before+k.outlasts()) * 10
	server.signal(syscall.SIGCONT)
	closed := k.eventually(patience, "the breaker closes", func() bool { return k.log.count("Redis is back") == 1 })
	k.eventually(patience, "back", k.well)
	if t.Logf("closed after %v", closed); isLong() && closed > 500*time.Millisecond*slack {
		t.Errorf("the breaker closed after %v", closed)
	}
	k.eventually(patience, "every charge is posted", func() bool {
		used, held := k.used(server, "tokens")
		return used == admitted && held == 0
	})
}

// Packets vanish without an error. The effect is that of a Redis that hangs.
func TestPacketsVanish(t *testing.T) {
	server := startRedis(t)
	proxy := proxied(t, server)
	k := openReplica(t, "redis://"+proxy.Listen, nil, generous)
	k.loaded(during(200 * time.Millisecond))
	k.prepared()
	toxic(t, proxy, `{"name":"hole","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`)
	k.outlasts()
	_ = proxy.Toxics.RemoveToxic(context.Background(), "hole")
	k.eventually(patience, "back", k.well)
}

// After an outage in which packets vanished the breaker closes, and requests reach Redis, even if a round trip takes most of the
// timeout and every connection must be made again.
func TestBackOverASlowNetwork(t *testing.T) {
	server := startRedis(t)
	proxy := proxied(t, server)
	k := openReplica(t, "redis://"+proxy.Listen, func(s *settings.Settings) { s.RedisTimeout = 300 * time.Millisecond }, generous)
	k.eventually(patience, "connected", func() bool { return k.spend(10) })
	k.eventually(patience, "spare connections", func() bool {
		return connectionsOf(t, server.do("INFO", "stats").(string)) >= redisclient.SpareConnections
	})
	toxic(t, proxy, `{"name":"slow","type":"latency","stream":"downstream","attributes":{"latency":180,"jitter":0}}`)
	toxic(t, proxy, `{"name":"hole","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`)
	k.eventually(patience, "the breaker opens", func() bool { k.loaded(during(100 * time.Millisecond)); return k.breakerOpen() })
	_ = proxy.Toxics.RemoveToxic(t.Context(), "hole")
	closed := k.eventually(patience, "the breaker closes", func() bool { return !k.breakerOpen() })
	t.Logf("closed after %v", closed)
	k.eventually(patience, "back", k.well)
	inRow := 0
	// a hiccup of the machine may make one of them time out
	k.eventually(patience, "five requests in a row are admitted by Redis", func() bool {
		if v, err := k.admit(10); err == nil && v.Held != nil && !k.Degraded() {
			inRow++
		} else {
			inRow = 0
		}
		return inRow == 5
	})
}
