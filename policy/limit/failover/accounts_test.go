package failover

import (
	"fmt"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// beside returns another replica over the same Redis, with the same clock.
func (s *harness) beside() *harness {
	other := &harness{T: s.T, client: s.client, clock: s.clock, fault: s.fault}
	config := *s.Config
	config.Store = storeAt(s.client, s.clock)
	other.Failover = New(config)
	s.Cleanup(func() { _ = other.Close(s.Context()) })
	return other
}

// makes creates tasks of four images each.
func (s *harness) makes(team *teams.Team, name string, n int) (made []*limit.Held) {
	s.Helper()
	for i := range n {
		v, err := s.Failover.Admit(s.Context(), taskHold(fmt.Sprint(name, i), team))
		if err != nil || v.Held == nil {
			s.Fatalf("%s%d: %+v, %v", name, i, v, err)
		}
		made = append(made, v.Held)
	}
	return made
}

// refuses checks that a team may create no more tasks.
func (s *harness) refuses(team *teams.Team, reason limit.Reason) {
	s.Helper()
	if v, err := s.Failover.Admit(s.Context(), taskHold("one more", team)); err != nil || v.Held != nil || v.Reason != reason {
		s.Errorf("another task is not refused for %s: %+v, %v", reason, v, err)
	}
}

// Redis loses its memory. Each replica restores its open holds and tasks by their ids: none is lost, none counts twice,
// however often and in whichever order, and each can be settled at its replica.
func TestOpenHoldsAreHeldAgain(t *testing.T) {
	for _, limits := range []struct {
		line   string
		reason limit.Reason
	}{{"quotas: {images: {day: 48}}", limit.ReasonQuota}, {"open_tasks: 10", limit.ReasonTasks}} {
		harnesses(t, nil, func(a *harness) {
			team := limittest.Team(a, limits.line)
			b := a.beside()
			for _, h := range a.makes(team, "ended", 2) {
				a.charge(h, team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
			}
			a.settled()
			mine, others := a.makes(team, "a", 5), b.makes(team, "b", 5)
			a.refuses(team, limits.reason)
			for _, s := range []*harness{a, b} {
				_ = s.Maintain(s.Context())
			}
			a.client.FlushDB(a.Context())
			for _, s := range []*harness{b, a, b, a} {
				_ = s.Maintain(s.Context())
			}
			if st := a.look(team); st.Used[2*limit.Images] != 8 || st.Held[2*limit.Images] != 40 || st.Tasks != 10 {
				a.Errorf("%d images used, %d held by %d tasks; want 8, 40, 10", st.Used[2*limit.Images], st.Held[2*limit.Images], st.Tasks)
			}
			a.refuses(team, limits.reason)
			b.refuses(team, limits.reason)
			for _, s := range []*harness{a, b} {
				for _, h := range append(mine, others...) { // each learns of each end
					s.charge(h, team, limit.Amounts{limit.Requests: 1, limit.Images: 3})
				}
				s.settled()
			}
			a.free(team, 8+30)
		})
	}
}

// A request after the loss is decided once its replica's holds have been restored.
func TestTheRequestThatMeetsTheLoss(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team := limittest.Team(s, "quotas: {images: {day: 4000}}")
		s.makes(team, "a", 1000)
		s.client.FlushDB(s.Context())
		s.refuses(team, limit.ReasonQuota)
		if st := s.look(team); st.Held[2*limit.Images] != 4000 || st.Tasks != 1000 {
			s.Errorf("%d images held by %d tasks", st.Held[2*limit.Images], st.Tasks)
		}
	})
}

// A hold that another replica has settled is not restored, whichever of the two restores first, and however long ago that
// was.
func TestWhatOthersSettledIsNotHeldAgain(t *testing.T) {
	for _, first := range []string{"maker", "settler"} {
		for _, ago := range []time.Duration{0, 2 * time.Minute, time.Hour} {
			harnesses(t, nil, func(a *harness) {
				team := limittest.Team(a, "quotas: {images: {day: 100}}")
				b := a.beside()
				a.must("seen here", team, limit.Amounts{})
				b.must("seen there", team, limit.Amounts{})
				_, _ = a.Maintain(a.Context()), b.Maintain(b.Context()) // the next walk is a minute later
				for _, h := range a.makes(team, "a", 3) {
					b.charge(h, team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
				}
				b.settled()
				for range int(ago/time.Minute) + 1 {
					for _, s := range []*harness{a, b} {
						_, _ = s.Failover.Look(s.Context(), team)
						_ = s.Maintain(s.Context())
					}
					if ago > 0 {
						a.clock.Move(time.Minute)
					}
				}
				a.client.FlushDB(a.Context())
				order := []*harness{a, b, a, b}
				if first == "settler" {
					order = order[1:]
				}
				for _, s := range order {
					_ = s.Maintain(s.Context())
				}
				a.free(team, 12)
			})
		}
	}
}

// One shard of a cluster loses its memory, and with it an idle team with open tasks: its holds are restored within a
// minute.
func TestAnIdleTeamOfALostShard(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team := limittest.Team(s, "open_tasks: 3")
		s.makes(team, "a", 3)
		for range 11 {
			s.swept()
		}
		for _, key := range s.client.Keys(s.Context(), "sl1:{search}:*").Val() {
			s.client.Del(s.Context(), key)
		}
		s.swept()
		if st := s.look(team); st.Held[2*limit.Images] != 12 || st.Tasks != 3 {
			s.Errorf("%d images held by %d tasks", st.Held[2*limit.Images], st.Tasks)
		}
	})
}

// A lease that was extended before the loss keeps its length.
func TestAnExtendedLeaseStays(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team := limittest.Team(s)
		h := taskHold("a", team)
		h.Lease = 10 * time.Minute
		v, err := s.Failover.Admit(s.Context(), h)
		if err != nil || v.Held == nil {
			s.Fatal(v, err)
		}
		_ = s.Extend(s.Context(), v.Held, 25*time.Hour)
		s.settled()
		_ = s.Maintain(s.Context())
		s.client.FlushDB(s.Context())
		_ = s.Maintain(s.Context())
		s.clock.Move(24 * time.Hour)
		s.swept()
		if st := s.look(team); st.Tasks != 1 {
			s.Errorf("%d open tasks, want 1", st.Tasks)
		}
		s.clock.Move(2 * time.Hour)
		s.swept()
		s.free(team, 4)
	})
}
