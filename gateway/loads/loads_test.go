package loads

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// The budget against a model: sums are right after every step, bounds are kept, and everything is given back.
func TestBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := New(limit.NewFleet(1, time.Now), 1000)
		var open []Share
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			team := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "team")
			if len(open) > 0 && rapid.Bool().Draw(t, "release") {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				open[i].Keep(0)
				open[i].Keep(0)
			}
			s, n := b.Share(team), rapid.Int64Range(1, 600).Draw(t, "n")
			before := b.Bytes()
			fits := before+n <= 1000 && s.team.bytes.Load()+n <= 500
			if s.Take(n) != fits || !fits && b.Bytes() != before {
				t.Fatalf("take %d of team %s: want %v", n, team, fits)
			}
			if all, most := s.Lacks(); all != n || most != 500 {
				t.Fatalf("of %d bytes it lacks %d of %d", n, all, most)
			}
			open = append(open, s)
		}
		for i := range open {
			open[i].Keep(0)
		}
		if b.Bytes() != 0 {
			t.Fatalf("%d left", b.Bytes())
		}
	})
}

// A request in flight counts for its team and its key, which have different limits; the narrowest that is full is named.
func TestSlotsOfAKey(t *testing.T) {
	l, team := New(limit.NewFleet(2, time.Now), 1000), &teams.Team{ID: "search", Concurrent: 6} // three here
	narrow, none := &teams.KeyLimits{Concurrent: 2}, &teams.KeyLimits{}
	var open []Share
	take := func(key string, of *teams.KeyLimits, full limit.ScopeKind, fits bool) {
		t.Helper()
		s := l.Share("search")
		if k, ok := s.TakeSlot(team, key, of); ok != fits || !ok && k != full {
			t.Fatalf("%s: %v %v, want %v %v", key, k, ok, full, fits)
		} else if !ok {
			s.LeaveSlot()
			return
		}
		open = append(open, s)
	}
	take("one", narrow, 0, true)
	take("one", narrow, limit.ScopeKey, false)
	take("two", narrow, 0, true)
	take("other", none, 0, true)
	take("other", none, limit.ScopeTeam, false)
	take("one", narrow, limit.ScopeKey, false)
	for i := range open {
		open[i].LeaveSlot()
		open[i].LeaveSlot()
	}
	if n := l.Flying(limit.ScopeTeam, "search") + l.Flying(limit.ScopeKey, "one") + l.Flying(limit.ScopeKey, "two"); n != 0 {
		t.Fatalf("%d are in flight after all have ended", n)
	}
	take("one", narrow, 0, true)
}
