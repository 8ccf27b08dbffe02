package redisclient

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/sony/gobreaker/v2"
)

// TestABurstOpensNoBreaker: many more slow calls than connections are answered, each in its turn, and none counts as a failure of
// Redis: neither one that waited, nor one whose caller has left, nor one that waited in vain.
func TestABurstOpensNoBreaker(t *testing.T) {
	c := open(t, startRedis(t), patience)
	var failed atomic.Int64
	var asking sync.WaitGroup
	for range 10 * PoolSize {
		asking.Go(func() {
			if err := c.Eval(t.Context(), "local n = 0 for i = 1, 20000 do n = n + i end return n", nil).Err(); err != nil {
				failed.Add(1)
			}
		})
	}
	asking.Wait()
	if total := c.PoolStats().TotalConns; failed.Load() > 0 || total > PoolSize {
		t.Errorf("%d of %d calls failed, over %d connections", failed.Load(), 10*PoolSize, total)
	}
	g := c.guards[0]
	if now := g.breaker.Counts(); g.breaker.State() != gobreaker.StateClosed || now.TotalFailures > 0 {
		t.Errorf("the breaker is %v after %d failures", g.breaker.State(), now.TotalFailures)
	}
	eventually(t, "no place is in use", func() bool { // the client's own first calls have ended, too
		g.places.mu.Lock()
		defer g.places.mu.Unlock()
		return g.places.used == 0 && g.places.waiting.Len() == 0
	})
}

// TestABurstLeavesLittleMemory: the pool keeps all connections that a burst has opened, each of which takes 32 KB of the heap at most.
func TestABurstLeavesLittleMemory(t *testing.T) {
	c := open(t, startRedis(t), patience)
	eventually(t, "connected", func() bool { return c.Ping(t.Context()).Err() == nil })
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools hold goes at the second
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, few := live(), int64(c.PoolStats().TotalConns)
	var all int64
	eventually(t, "all connections are open", func() bool {
		var asking sync.WaitGroup
		for range PoolSize {
			asking.Go(func() { _ = c.Eval(t.Context(), "local n = 0 for i = 1, 100000 do n = n + i end return n", nil).Err() })
		}
		asking.Wait()
		all = int64(c.PoolStats().TotalConns)
		return all >= int64(c.guards[0].places.most)
	})
	if each := (live() - before) / (all - few); each > 32<<10 {
		t.Errorf("each of %d connections takes %d bytes", all-few, each)
	}
}

// TestWaitingForAPlaceIsNoFailure: while all connections are busy, a call whose caller leaves, and one that waits in vain, get
// the error that does not count against Redis.
func TestWaitingForAPlaceIsNoFailure(t *testing.T) {
	c := open(t, startRedis(t), patience)
	eventually(t, "connected", func() bool { return c.Ping(t.Context()).Err() == nil })
	// the call for it wants a place, too
	eventually(t, "what Redis is is known", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.policy != "" })
	g := c.guards[0]
	var told atomic.Int64
	c.OnFull(func() { told.Add(1) })
	for range g.places.most {
		if err := g.places.take(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	left, leave := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for ctx, why := range map[context.Context]error{left: context.Canceled, t.Context(): errNoPlace} {
		asking.Go(func() {
			err := c.Get(ctx, "sl1:{search}:x").Err()
			if !errors.Is(err, why) || !errors.Is(err, c.config.Busy) {
				t.Errorf("%v, want %v", err, why)
			}
		})
	}
	eventually(t, "both wait", func() bool { g.places.mu.Lock(); defer g.places.mu.Unlock(); return g.places.waiting.Len() == 2 })
	leave()
	asking.Wait()
	if n := g.breaker.Counts().TotalFailures; n > 0 || told.Load() != 1 {
		t.Errorf("%d failures of Redis, and %d times that the bound was reached, want 1", n, told.Load())
	}
	for range g.places.most {
		g.places.give(false)
	}
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}

// TestACallsTimeBeginsWhenItIsSent: a call with a short deadline waits for a place longer than that, and is answered.
func TestACallsTimeBeginsWhenItIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &places{most: 1, open: 1}
		if err := p.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), PlaceWait/8)
		defer cancel()
		sent := lasting(ctx, timeOf(ctx, 0))
		placed := make(chan error)
		go func() { placed <- p.take(ctx) }()
		<-ctx.Done()
		synctest.Wait()
		p.give(false)
		if err := <-placed; err != nil {
			t.Errorf("the wait ended with the deadline: %v", err)
		}
		begun, want := ctx.Deadline() // now
		until, bounded := sent.Deadline()
		if !want || !bounded || until.Sub(begun) != PlaceWait/8 || sent.Err() != nil {
			t.Errorf("Redis has %v, want the caller's %v", until.Sub(begun), PlaceWait/8)
		}
		if again, _ := sent.Deadline(); !again.Equal(until) {
			t.Error("its time begins again")
		}
	})
}

// TestPlacesAreGivenInTurn: a freed place goes to the call that has waited longest, or to the next if that has left, and no more
// are in use than there are connections.
func TestPlacesAreGivenInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &places{most: 2, make: func() error { return nil }}
		var order []int
		var mu sync.Mutex
		left, leave := context.WithCancel(t.Context())
		for n := range 5 {
			ctx := t.Context()
			if n == 3 {
				ctx = left
			}
			go func() {
				if p.take(ctx) == nil {
					mu.Lock()
					order = append(order, n)
					mu.Unlock()
				}
			}()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		for n := range 3 {
			if len(order) != min(2+n, 4) || p.used != 2 || p.open != 2 {
				t.Errorf("%v have a place, %d of %d are in use", order, p.used, p.open)
			}
			p.give(false)
			synctest.Wait()
			if n == 1 { // no call waits any more
				break
			}
		}
		if want := []int{0, 1, 2, 4}; len(order) != 4 || order[2] != want[2] || order[3] != want[3] {
			t.Errorf("places went to %v, want %v", order, want)
		}
	})
}

// TestACallFailsWithItsConnection: if no connection can be made, the call that waits for it fails with the reason, which counts; and no
// call waits once the breaker is open.
func TestACallFailsWithItsConnection(t *testing.T) {
	c := open(t, "127.0.0.1:1", patience)
	var away int
	for range 2 * failuresInRow {
		switch err := c.Get(t.Context(), "sl1:{search}:x").Err(); {
		case errors.Is(err, c.config.Away):
			away++
		case err == nil || !strings.Contains(err.Error(), "refused"):
			t.Errorf("%v, want a refused connection", err)
		}
	}
	if away < failuresInRow || c.guards[0].places.waiting.Len() > 0 {
		t.Errorf("%d calls were not sent because Redis is away", away)
	}
}

// TestCallsAsideTakeNoPlaces: calls aside have their own connections and breaker. While all of those are taken, or their breaker
// is open, other calls are answered.
func TestCallsAsideTakeNoPlaces(t *testing.T) {
	config := configOf(t, startRedis(t), patience)
	config.Aside = errors.New("aside")
	c := Open(config)
	t.Cleanup(func() { _ = c.Close() })
	aside := Aside(t.Context())
	pipe := c.Pipeline()
	pipe.Set(aside, "sl1:{search}:x", "kept", 0)
	got := pipe.Get(aside, "sl1:{search}:x")
	if _, err := pipe.Exec(aside); err != nil || got.Val() != "kept" {
		t.Fatal(got.Val(), err)
	}
	if main, own := c.guards[0].breaker.Counts().Requests, c.aside.guards[0].breaker.Counts().Requests; own == 0 || c.PoolStats().Hits > main {
		t.Errorf("%d calls went aside", own)
	}
	hung := make(chan error, 4*asidePool)
	for range cap(hung) {
		go func() { hung <- c.BLPop(aside, 0, "sl1:{search}:never").Err() }() // until the connection is closed
	}
	eventually(t, "all places aside are taken", func() bool {
		p := c.aside.guards[0].places
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.used == asidePool-ownConnections && p.waiting.Len() > 0
	})
	if err := c.Get(t.Context(), "sl1:{search}:x").Err(); err != nil {
		t.Errorf("another call fails: %v", err)
	}
	c.aside.guards[0].places.fail(config.Aside)
	c.aside.conns.drop("")
	for range cap(hung) {
		if <-hung == nil {
			t.Error("a call without an answer succeeded")
		}
	}
	for range failuresInRow {
		_, _ = c.aside.guards[0].breaker.Execute(func() (struct{}, error) { return struct{}{}, errors.New("lost") })
	}
	if err := c.Get(t.Context(), "sl1:{search}:x").Err(); err != nil || c.guards[0].breaker.State() != gobreaker.StateClosed {
		t.Errorf("another call fails: %v", err)
	}
}

// TestAConnectionIsMadeOnItsOwnTime: a call is answered although its deadline passes before its connection is made: by the client
// or, if that counted one too many, by the library inside the call.
func TestAConnectionIsMadeOnItsOwnTime(t *testing.T) {
	address := startRedis(t)
	for name, believed := range map[string]int{"by the client": 0, "inside the call": 1} {
		t.Run(name, func(t *testing.T) {
			c := open(t, address, patience)
			ctx, cancel := context.WithTimeout(t.Context(), patience/60)
			defer cancel()
			var connected atomic.Int64
			c.OnConnect(func(context.Context, string) error {
				connected.Add(1)
				<-ctx.Done()
				return nil
			})
			c.guards[0].places.open = believed
			if err := c.Ping(ctx).Err(); err != nil || ctx.Err() == nil || connected.Load() == 0 {
				t.Errorf("%v, with %d connections, before the deadline: %v", err, connected.Load(), ctx.Err() == nil)
			}
		})
	}
}

// TestAConnectionThatFailsTellsLittleWhileOthersAnswer: if no connection can be made, a call keeps waiting for one that is given
// back if Redis has answered another call meanwhile; otherwise it fails with the reason, so that a hanging Redis is noticed.
func TestAConnectionThatFailsTellsLittleWhileOthersAnswer(t *testing.T) {
	for name, answers := range map[string]bool{"answers": true, "hangs": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				failed, fails := errors.New("late"), make(chan struct{})
				p := &places{most: 4, open: 2, make: func() error { <-fails; return failed }}
				for range 2 {
					if err := p.take(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				waits := make(chan error, 2)
				for range cap(waits) {
					go func() { waits <- p.take(t.Context()) }()
				}
				synctest.Wait()
				p.give(!answers)
				synctest.Wait()
				close(fails)
				synctest.Wait()
				if answers {
					if err := <-waits; err != nil || len(waits) > 0 {
						t.Fatalf("%v, and %d others do not wait", err, len(waits))
					}
					p.give(false)
					if err := <-waits; err != nil {
						t.Error(err)
					}
					return
				}
				for range cap(waits) {
					if err := <-waits; !errors.Is(err, failed) {
						t.Errorf("%v, want %v", err, failed)
					}
				}
			})
		})
	}
}
