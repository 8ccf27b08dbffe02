package cache_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
)

// The time for failed writes, and for what Redis lost, ends: what is left waits, and is counted.
func TestTheTimeForWritesEnds(t *testing.T) {
	server, a, b := double(t)
	a.away.Store(true)
	for _, team := range []string{"search", "shop"} {
		a.many(team, team, 100)
	}
	a.away.Store(false)
	ctx, end := context.WithCancel(t.Context())
	var calls atomic.Int64
	a.around = func(_ redis.Cmder, do func() error) error {
		if calls.Add(1) == 50 {
			end()
		}
		return do()
	}
	_ = a.Maintain(ctx)
	if n := a.redis.Unwritten(); n < 150 || n > 190 || calls.Load() > 60 {
		t.Errorf("%d unwritten after %d calls", n, calls.Load())
	}
	a.maintain("")
	if n := a.redis.Unwritten(); n != 0 {
		t.Errorf("%d unwritten", n)
	}
	b.listed(100)

	server.FlushAll()
	a.memory.Add(1)
	calls.Store(0)
	ctx, end = context.WithCancel(t.Context())
	defer end()
	_ = a.Maintain(ctx)
	if calls.Load() > 80 {
		t.Errorf("%d calls to restore", calls.Load())
	}
	a.maintain("")
	b.listed(100)
}

// What panics while it is written, or restored, is not lost, and holds up no other team.
func TestAPanicLosesNoWrite(t *testing.T) {
	server, a, b := double(t)
	a.away.Store(true)
	for _, team := range []string{"search", "shop"} {
		a.many(team, team, 20)
	}
	a.away.Store(false)
	var calls atomic.Int64
	fails := func(cmd redis.Cmder, do func() error) error {
		if strings.Contains(fmt.Sprint(cmd.Args()...), "{search}") && calls.Add(1) == 5 {
			panic("a fault")
		}
		return do()
	}
	a.around = fails
	a.maintain("")
	if n := a.redis.Unwritten(); a.panics.Load() != 1 || n == 0 || n > 20 {
		t.Errorf("%d panics, %d unwritten", a.panics.Load(), n)
	}
	a.maintain("")
	if n := a.redis.Unwritten(); n != 0 {
		t.Errorf("%d unwritten", n)
	}
	b.listed(20)

	server.FlushAll()
	a.memory.Add(1)
	calls.Store(0)
	_ = a.Maintain(t.Context())
	if a.panics.Load() != 2 {
		t.Errorf("%d panics", a.panics.Load())
	}
	a.maintain("")
	b.listed(20)
}
