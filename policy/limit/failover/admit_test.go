package failover

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// A request that can never fit makes no call and is no sign that Redis is available: each outage is logged once.
func TestNeverIsNoCall(t *testing.T) {
	for name, refuse := range map[string]bool{"local": false, "refuse": true} {
		t.Run(name, func(t *testing.T) {
			var told []bool
			s := newHarness(t, limittest.RealRedis(t), func(c *Config) {
				c.Refuse = refuse
				c.Changed = func(away bool, _ time.Duration) { told = append(told, away) }
			})
			team := limittest.Team(t, "rates: {images: {per: 1m, limit: 2}}")
			never := func(id string) {
				if v, err := s.ask(id, team, limit.Amounts{limit.Requests: 1, limit.Images: 4}); err != nil || v.Reason != limit.ReasonNever {
					t.Errorf("%+v, %v", v, err)
				}
			}
			s.must("seen", team, limit.Amounts{limit.Requests: 1})
			s.fault.mode.Store(away)
			for n := range 6 {
				if _, err := s.ask(id(n), team, limit.Amounts{limit.Requests: 1}); (err != nil) != refuse {
					t.Error(err)
				}
				never("n" + id(n))
				s.clock.Move(reportAfter)
				if !s.Degraded() {
					t.Error("taken for a Redis that answers")
				}
			}
			if !refuse { // no more requests of the team follow
				_ = s.Maintain(s.Context())
			}
			if !slices.Equal(told, []bool{true}) {
				t.Errorf("told %v of one outage", told)
			}
		})
	}
}

// Such a request does not fill the buckets of a process that started without Redis.
func TestNeverFillsNothing(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	team := limittest.Team(t, "rates: {requests: {per: 1m, limit: 60}, images: {per: 1m, limit: 2}}")
	s.fault.mode.Store(away)
	if v, err := s.ask("never", team, limit.Amounts{limit.Requests: 1, limit.Images: 4}); err != nil || v.Reason != limit.ReasonNever {
		t.Errorf("%+v, %v", v, err)
	}
	if v, err := s.ask("a", team, limit.Amounts{limit.Requests: 1}); err != nil || v.Held != nil {
		t.Errorf("a bucket began full: %+v, %v", v, err)
	}
}

// Such a request does not make the last known quotas of a team fresh.
func TestNeverMakesNothingFresh(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	team := limittest.Team(t, "rates: {images: {per: 1m, limit: 2}}", "quotas: {tokens: {day: 1000}}")
	s.must("seen", team, limit.Amounts{limit.Tokens: 10})
	s.clock.Move(time.Hour)
	s.fault.mode.Store(away)
	for _, about := range []string{"before", "after"} {
		if v, err := s.ask(about, team, limit.Amounts{limit.Tokens: 10}); err == nil {
			t.Errorf("%s: the state is an hour old, and yet %+v", about, v)
		}
		_, _ = s.ask("never "+about, team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
		s.clock.Move(time.Second)
	}
}

// far is a network on which a call has the time for one round trip only.
type far struct {
	mu    sync.Mutex
	trips map[time.Time]int // by the deadline of the call
}

func (f *far) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *far) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := f.trip(ctx); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (f *far) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := f.trip(ctx); err != nil {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		}
		return next(ctx, cmds)
	}
}

func (f *far) trip(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	f.mu.Lock()
	f.trips[deadline]++
	n := f.trips[deadline]
	f.mu.Unlock()
	if n == 1 {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestRequestsComeBackOverASlowNetwork: the first request after an outage checks whether Redis has lost its memory, and its own call
// has its own time. Redis admits it, and the next one.
func TestRequestsComeBackOverASlowNetwork(t *testing.T) {
	s := newHarness(t, limittest.FakeRedis(t), func(c *Config) { c.Timeout = 50 * time.Millisecond })
	team, one := limittest.Team(t, "rates: {requests: {per: 1m, limit: 60}}"), limit.Amounts{limit.Requests: 1}
	s.must("before", team, one)
	s.fault.mode.Store(away)
	s.must("without", team, one)
	s.fault.mode.Store(well)
	s.client.AddHook(&far{trips: map[time.Time]int{}})
	if v := s.must("first", team, one); v.Local || s.away.Load() != nil {
		t.Fatal("Redis did not admit it, although it has answered")
	}
	before := s.beats.Load()
	s.must("second", team, one)
	if s.away.Load() != nil || s.beats.Load() != before {
		t.Error("the second request is not admitted by Redis")
	}
}
