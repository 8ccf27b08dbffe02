package limit

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// before is called before each call of Redis.
type before func(ctx context.Context, cmds ...redis.Cmder)

func (f before) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f before) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		f(ctx, cmd)
		return next(ctx, cmd)
	}
}

func (f before) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		f(ctx, cmds...)
		return next(ctx, cmds)
	}
}

// The round that requests wait for leaves them half of their time.
func TestTheLastRoundLeavesTime(t *testing.T) {
	shareds(t, func(c *SharedConfig) { c.Timeout = time.Minute }, func(s *shared) {
		team := team(s)
		s.must("seen", team, Amounts{})
		s.fault.mode.Store(away)
		s.charge(s.must("posted", team, Amounts{Requests: 1}), team, Amounts{Requests: 1})
		s.must("held", team, Amounts{Requests: 1})
		s.fault.mode.Store(well)
		var calls atomic.Int64
		s.client.AddHook(before(func(ctx context.Context, _ ...redis.Cmder) {
			if until, ok := ctx.Deadline(); !ok || time.Until(until) > s.Timeout/2 {
				t.Errorf("a call may last until %v", until)
			}
			calls.Add(1)
		}))
		if err := s.joinAtLast(s.Context(), s.bridge("search")); err != nil || s.Degraded() {
			t.Errorf("not back: %v, %v", err, s.State())
		}
		if calls.Load() == 0 {
			t.Error("nothing was posted")
		}
	})
}

// Who has no time left asks nobody: Redis has nothing to do with what is admitted then, and nothing is known of it.
func TestNoTimeLeft(t *testing.T) {
	for name, refuse := range map[string]bool{"local": false, "refuse": true} {
		t.Run(name, func(t *testing.T) {
			s := newShared(t, realRedis(t), func(c *SharedConfig) { c.Refuse = refuse })
			team := team(t, "quotas: {tokens: {day: 100}}")
			s.must("seen", team, Amounts{Tokens: 1})
			var asked atomic.Int64
			s.client.AddHook(before(func(context.Context, ...redis.Cmder) { asked.Add(1) }))
			s.Timeout = 0
			v, err := s.ask("late", team, Amounts{Tokens: 1})
			switch {
			case asked.Load() > 0:
				t.Error("Redis was asked")
			case refuse && !errors.Is(err, ErrAway):
				t.Errorf("%+v, %v", v, err)
			case !refuse && (err != nil || v.Held == nil || !v.Held.local):
				t.Errorf("%+v, %v", v, err)
			}
			if s.away.Load() != nil || s.queue.waiting() > 0 {
				t.Error("taken for a call that failed")
			}
		})
	}
}

// The round that requests wait for sends nothing again: whoever is told of a charge may ask Redis, too, for long.
func TestTheLastRoundTellsNobody(t *testing.T) {
	shareds(t, nil, func(s *shared) {
		team := team(s)
		h := s.must("seen", team, Amounts{Requests: 1})
		s.fault.mode.Store(away)
		told := new(took)
		s.SettleLater(told.charge(h, team, Amounts{Requests: 1}))
		s.settled()
		s.must("here", team, Amounts{Requests: 1})
		s.fault.mode.Store(well)
		if err := s.joinAtLast(s.Context(), s.bridge("search")); err != nil || s.bridge("search").local.Load() {
			t.Errorf("not back: %v, %v", err, s.State())
		}
		told.wants(t, "while requests wait", took{})
		s.back()
		told.wants(t, "when they do not", took{first: 1})
	})
}

// Who settles what Redis has does not wait for the team's last round.
func TestSettleLaterDoesNotWait(t *testing.T) {
	s := newShared(t, realRedis(t), nil)
	team := team(t)
	h := s.must("in Redis", team, Amounts{Requests: 1})
	s.fault.mode.Store(away)
	s.must("here", team, Amounts{Requests: 1})
	b := s.bridge("search")
	b.mu.Lock() // the last round
	settled := make(chan struct{})
	go func() {
		s.charge(h, team, Amounts{Requests: 1})
		close(settled)
	}()
	select {
	case <-settled:
	case <-time.After(10 * time.Second):
		t.Error("it waits for the last round")
	}
	b.mu.Unlock()
	<-settled
	s.back()
	s.settled()
	if st := s.look(team); st.used[2*Requests] != 1 || st.held[2*Requests] != 1 {
		t.Errorf("%d used, %d held; want 1, 1", st.used[2*Requests], st.held[2*Requests])
	}
}
