package failover

import (
	"errors"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// took records the confirmations of a charge.
type took struct{ first, later int }

func (k *took) charge(h *limit.Held, team *teams.Team, a limit.Amounts) *limit.Charge {
	return &limit.Charge{Held: h, Team: team, Amounts: a, Taken: func(first bool) {
		if first {
			k.first++
		} else {
			k.later++
		}
	}}
}

func (k *took) wants(t testing.TB, about string, want took) {
	t.Helper()
	if *k != want {
		t.Errorf("%s: told %+v, want %+v", about, *k, want)
	}
}

// The caller of a charge is notified once that the state has taken it, immediately or later.
func TestTakenIsToldOnce(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team := limittest.Team(s, "quotas: {images: {day: 100}}")
		one := limit.Amounts{limit.Requests: 1, limit.Images: 1}
		settle := func(k *took, h *limit.Held) { _, _ = s.Settle(s.Context(), k.charge(h, team, one)) }
		at, twice := new(took), new(took)
		h := s.must("at once", team, one)
		settle(at, h)
		settle(twice, h)
		at.wants(s, "at once", took{first: 1})
		twice.wants(s, "a second time", took{later: 1})

		for mode, about := range map[int32]string{away: "Redis is away", deaf: "the reply is lost", silent: "the question is lost"} {
			h := s.must(about, team, one)
			s.fault.mode.Store(mode)
			k, second := new(took), new(took)
			settle(k, h)
			settle(second, h)
			k.wants(s, about, took{})
			s.back()
			k.wants(s, about+", and it is back", took{first: 1})
			second.wants(s, about+", and it is back, a second time", took{later: 1})
		}
	})
}

// TestABrokenTeamKeepsNoOtherWaiting: after a restart of Redis the accounts of one team cannot be read. The charges of
// another arrive, whichever was settled first.
func TestABrokenTeamKeepsNoOtherWaiting(t *testing.T) {
	for _, order := range [][]string{{"broken", "sound"}, {"sound", "broken"}} {
		t.Run(order[0]+" first", func(t *testing.T) {
			s := newHarness(t, limittest.FakeRedis(t), nil)
			byName, held := map[string]*teams.Team{}, map[string]*limit.Held{}
			for _, name := range order {
				team := *limittest.Team(t, "rates: {requests: {per: 1m, limit: 60}}")
				team.ID = name
				byName[name], held[name] = &team, s.must(name, &team, limit.Amounts{limit.Requests: 1})
			}
			if err := s.client.Set(t.Context(), "sl1:{broken}:quota", "x", 0).Err(); err != nil {
				t.Fatal(err)
			}
			_, _ = s.Connected(t.Context(), "one"), s.Connected(t.Context(), "two") // with its whole data
			for _, name := range order {
				s.queue.retain(job{charge: &limit.Charge{Held: held[name], Team: byName[name], Amounts: limit.Amounts{limit.Requests: 1}}})
			}
			for range 5 {
				s.clock.Move(3 * time.Second)
				_ = s.Maintain(t.Context())
			}
			if st := s.look(byName["sound"]); st.Used[0] != 1 {
				t.Errorf("%d requests of the sound team are used, want 1; %d charges wait", st.Used[0], s.queue.waiting())
			}
		})
	}
}

// Redis's memory is found to be lost between two charges of a batch. The batch counts as one for the earlier memory, in which the team
// of the first was restored, so that no new connection serves it before that team is restored in the later one.
func TestABatchCountsForTheMemoryThatItBeganIn(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	one := limit.Amounts{limit.Requests: 1}
	before, after := limittest.Team(t), *limittest.Team(t)
	after.ID = "after"
	first := job{charge: &limit.Charge{Held: s.must("first", before, one), Team: before, Amounts: one}}
	later := job{charge: &limit.Charge{Held: &limit.Held{ID: "later", Team: "after"}, Team: &after, Amounts: one}}
	s.client.FlushDB(t.Context())
	errs := make([]error, 2)
	if got := s.restoredToSettle(t.Context(), []job{first, later}, errs); got != 1 || s.memory.Load() != 2 || errors.Join(errs...) != nil {
		t.Errorf("it is for memory %d, want the first of %d, %v", got, s.memory.Load(), errs)
	}
}
