package failover

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// hanging is a Redis that answers no call until its caller gives up.
type hanging struct {
	on   atomic.Bool
	hung atomic.Int64 // calls
}

func (f *hanging) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *hanging) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if f.on.Load() {
			err := f.hang(ctx)
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (f *hanging) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if f.on.Load() {
			err := f.hang(ctx)
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		}
		return next(ctx, cmds)
	}
}

func (f *hanging) hang(ctx context.Context) error {
	f.hung.Add(1)
	<-ctx.Done()
	return ctx.Err()
}

// While Redis hangs, a request that the house and its account at the service also count waits for one call, like any other.
func TestAHangIsWaitedForOnce(t *testing.T) {
	file, err := teams.Parse([]byte("house: {quotas: {images: {day: 1000}}}\nteams:\n  - {id: search, quotas: {images: {day: 1000}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, hangs := newHarness(t, limittest.FakeRedis(t), func(c *Config) { c.Timeout = 30 * time.Millisecond }), new(hanging)
	s.client.AddHook(hangs)
	ask := func(n int) {
		h := hold(id(n), file.List[0], limit.Amounts{limit.Requests: 1, limit.Images: 1})
		h.Lease = time.Hour
		h.Account, h.Outside = "eu", new(limit.Outsides).For(file, account("eu", 1000, 0), h.Model)
		_, _ = s.Failover.Admit(s.Context(), &h)
	}
	ask(0)
	hangs.on.Store(true)
	for n := range 3 {
		before := hangs.hung.Load()
		ask(1 + n)
		if calls := hangs.hung.Load() - before; calls != 1 {
			t.Errorf("request %d waited for %d calls", n, calls)
		}
	}
	hangs.on.Store(false)
}

// A request that moves to an account with quotas and rates waits for one call, too.
func TestAMoveWaitsForAHangOnce(t *testing.T) {
	file, err := teams.Parse([]byte("teams:\n  - {id: search, quotas: {images: {day: 1000}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, hangs := newHarness(t, limittest.FakeRedis(t), func(c *Config) { c.Timeout = 30 * time.Millisecond }), new(hanging)
	s.client.AddHook(hangs)
	on := func(n int, at string) *limit.Hold {
		h := hold(id(n), file.List[0], limit.Amounts{limit.Requests: 1, limit.Images: 1})
		h.Lease = time.Hour
		a := account(at, 1000, 0)
		a.Limits = []teams.AccountLimit{{Rates: []teams.Rate{{Unit: "requests", Per: time.Second, PerText: "1s", Limit: 100, Burst: 100}}}}
		h.Account, h.Outside = at, new(limit.Outsides).For(file, a, h.Model)
		return &h
	}
	for n := range 20 { // so that the accounts have allowances
		for i, at := range []string{"eu", "us"} {
			if v, err := s.Failover.Admit(s.Context(), on(100+2*n+i, at)); err != nil || v.Held == nil {
				t.Fatal(v, err)
			}
		}
	}
	s.clock.Move(renewEvery)
	s.back()
	v, err := s.Failover.Admit(s.Context(), on(0, "eu"))
	if err != nil || v.Held == nil {
		t.Fatal(v, err)
	}
	hangs.on.Store(true)
	defer hangs.on.Store(false)
	moved, err := s.Move(s.Context(), v.Held, on(0, "us"))
	if err != nil || moved.Held == nil || moved.Held.Account != "us" || !moved.Held.Shared {
		t.Errorf("%+v %v", moved, err)
	}
	if calls := hangs.hung.Load(); calls != 1 {
		t.Errorf("the move waited for %d calls", calls)
	}
}
