package failover

import (
	"testing"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// took remembers what a charge was told.
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

// Whoever waits for a charge is told once when the state has taken it, in the end if not at once.
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
