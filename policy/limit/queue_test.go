package limit

import (
	"testing"
	"time"
)

// A charge that is too many to keep is told of, although it is never taken: else who waits for it waits for ever.
func TestTooManyToKeep(t *testing.T) {
	s := newShared(t, realRedis(t), nil)
	s.queue.most = 2
	team := team(t)
	held := []*Held{s.must("a", team, Amounts{Requests: 1}), s.must("b", team, Amounts{Requests: 1}), s.must("c", team, Amounts{Requests: 1})}
	s.fault.mode.Store(away)
	told := make([]took, len(held))
	for n, h := range held {
		s.SettleLater(told[n].charge(h, team, Amounts{Requests: 1}))
		s.settled()
	}
	told[0].wants(t, "the oldest", took{later: 1})
	told[1].wants(t, "one that is kept", took{})
	s.fault.mode.Store(well)
	if err := s.Tend(s.Context()); err == nil {
		t.Error("nobody is told that one was lost")
	}
	told[0].wants(t, "the oldest", took{later: 1})
	told[2].wants(t, "one that was kept", took{first: 1})
}

// The extensions of one hold are one, the longest: they push out no charges.
func TestExtensionsAreKeptOnce(t *testing.T) {
	s := newShared(t, realRedis(t), nil)
	s.queue.most = 2
	team := team(t)
	charged := new(took)
	a, b := s.must("a", team, Amounts{Requests: 1}), s.must("b", team, Amounts{Requests: 1})
	s.fault.mode.Store(away)
	s.SettleLater(charged.charge(a, team, Amounts{Requests: 1}))
	s.settled()
	for _, lease := range []time.Duration{2 * time.Hour, 25 * time.Hour, 3 * time.Hour} {
		_ = s.Extend(s.Context(), b, lease)
		s.settled()
	}
	charged.wants(t, "kept", took{})
	s.back()
	charged.wants(t, "taken", took{first: 1})
	s.clock.move(24 * time.Hour)
	s.sweep("search")
	if st := s.look(team); st.used[2*Requests+1] != 1 || st.held[2*Requests+1] != 1 { // of the month
		t.Errorf("used %v, held %v: the longest lease was lost", st.used, st.held)
	}
}
