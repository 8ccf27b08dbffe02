package failover

import (
	"slices"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// What can never fit asks nobody, so it says nothing of Redis: each outage is told of once.
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
			if !refuse { // the team is not asked for any more
				_ = s.Tend(s.Context())
			}
			if !slices.Equal(told, []bool{true}) {
				t.Errorf("told %v of one outage", told)
			}
		})
	}
}

// F-G7: nor does it fill the buckets of a process that started without Redis.
func TestFG7NeverFillsNothing(t *testing.T) {
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

// Nor does it make fresh what is known of a team's quotas.
func TestNeverMakesNothingFresh(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	team := limittest.Team(t, "rates: {images: {per: 1m, limit: 2}}", "quotas: {tokens: {day: 1000}}")
	s.must("seen", team, limit.Amounts{limit.Tokens: 10})
	s.clock.Move(time.Hour)
	s.fault.mode.Store(away)
	for _, about := range []string{"before", "after"} {
		if v, err := s.ask(about, team, limit.Amounts{limit.Tokens: 10}); err == nil {
			t.Errorf("%s: what is known is an hour old, and yet %+v", about, v)
		}
		_, _ = s.ask("never "+about, team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
		s.clock.Move(time.Second)
	}
}
