package limit

import (
	"fmt"
	"testing"
	"time"

	"sluice/policy/teams"
)

// beside is another replica over the same Redis, by the same clock.
func (s *shared) beside() *shared {
	other := &shared{T: s.T, client: s.client, clock: s.clock, fault: s.fault}
	config := s.SharedConfig
	config.Redis = storeAt(s.client, s.clock)
	other.Shared = NewShared(config)
	s.Cleanup(func() { _ = other.Close(s.Context()) })
	return other
}

// makes makes tasks of four images each.
func (s *shared) makes(team *teams.Team, name string, n int) (made []*Held) {
	s.Helper()
	for i := range n {
		v, err := s.Shared.Admit(s.Context(), taskHold(fmt.Sprint(name, i), team))
		if err != nil || v.Held == nil {
			s.Fatalf("%s%d: %+v, %v", name, i, v, err)
		}
		made = append(made, v.Held)
	}
	return made
}

// refuses checks that a team may make no task more.
func (s *shared) refuses(team *teams.Team, reason Reason) {
	s.Helper()
	if v, err := s.Shared.Admit(s.Context(), taskHold("one more", team)); err != nil || v.Held != nil || v.Reason != reason {
		s.Errorf("another task is not refused for %s: %+v, %v", reason, v, err)
	}
}

// Redis loses its memory. Each replica puts back its own open holds and tasks, by their ids: none is forgotten, none
// counts twice, however often and in which order, and each is settled where it is.
func TestMend19OpenHoldsAreHeldAgain(t *testing.T) {
	for _, limits := range []struct {
		line   string
		reason Reason
	}{{"quotas: {images: {day: 48}}", ReasonQuota}, {"open_tasks: 10", ReasonTasks}} {
		shareds(t, nil, func(a *shared) {
			team := team(a, limits.line)
			b := a.beside()
			for _, h := range a.makes(team, "ended", 2) {
				a.charge(h, team, Amounts{Requests: 1, Images: 4})
			}
			a.settled()
			mine, others := a.makes(team, "a", 5), b.makes(team, "b", 5)
			a.refuses(team, limits.reason)
			for _, s := range []*shared{a, b} {
				_ = s.Tend(s.Context())
			}
			a.client.FlushDB(a.Context())
			for _, s := range []*shared{b, a, b, a} {
				_ = s.Tend(s.Context())
			}
			if st := a.look(team); st.used[2*Images] != 8 || st.held[2*Images] != 40 || st.tasks != 10 {
				a.Errorf("%d images used, %d held by %d tasks; want 8, 40, 10", st.used[2*Images], st.held[2*Images], st.tasks)
			}
			a.refuses(team, limits.reason)
			b.refuses(team, limits.reason)
			for _, s := range []*shared{a, b} {
				for _, h := range append(mine, others...) { // each hears of each end
					s.charge(h, team, Amounts{Requests: 1, Images: 3})
				}
				s.settled()
			}
			a.free(team, 8+30)
		})
	}
}

// A request that meets the loss is judged after what its own replica holds was put back.
func TestMend19TheRequestThatMeetsTheLoss(t *testing.T) {
	shareds(t, nil, func(s *shared) {
		team := team(s, "quotas: {images: {day: 4000}}")
		s.makes(team, "a", 1000)
		s.client.FlushDB(s.Context())
		s.refuses(team, ReasonQuota)
		if st := s.look(team); st.held[2*Images] != 4000 || st.tasks != 1000 {
			s.Errorf("%d images held by %d tasks", st.held[2*Images], st.tasks)
		}
	})
}

// What another replica has settled is not held again, whichever of the two puts back first, and however long ago it was.
func TestMend19WhatOthersSettledIsNotHeldAgain(t *testing.T) {
	for _, first := range []string{"maker", "settler"} {
		for _, ago := range []time.Duration{0, 2 * time.Minute, time.Hour} {
			shareds(t, nil, func(a *shared) {
				team := team(a, "quotas: {images: {day: 100}}")
				b := a.beside()
				a.must("seen here", team, Amounts{})
				b.must("seen there", team, Amounts{})
				_, _ = a.Tend(a.Context()), b.Tend(b.Context()) // the next walk is a minute later
				for _, h := range a.makes(team, "a", 3) {
					b.charge(h, team, Amounts{Requests: 1, Images: 4})
				}
				b.settled()
				for range int(ago/time.Minute) + 1 {
					for _, s := range []*shared{a, b} {
						_, _ = s.Shared.Look(s.Context(), team)
						_ = s.Tend(s.Context())
					}
					if ago > 0 {
						a.clock.move(time.Minute)
					}
				}
				a.client.FlushDB(a.Context())
				order := []*shared{a, b, a, b}
				if first == "settler" {
					order = order[1:]
				}
				for _, s := range order {
					_ = s.Tend(s.Context())
				}
				a.free(team, 12)
			})
		}
	}
}

// One shard of a cluster loses its memory, and with it a team that has open tasks and asks for nothing any more: what it
// holds is held again within a minute.
func TestMend19AnIdleTeamOfALostShard(t *testing.T) {
	shareds(t, nil, func(s *shared) {
		team := team(s, "open_tasks: 3")
		s.makes(team, "a", 3)
		for range 11 {
			s.swept()
		}
		for _, key := range s.client.Keys(s.Context(), "sl1:{search}:*").Val() {
			s.client.Del(s.Context(), key)
		}
		s.swept()
		if st := s.look(team); st.held[2*Images] != 12 || st.tasks != 3 {
			s.Errorf("%d images held by %d tasks", st.held[2*Images], st.tasks)
		}
	})
}

// A lease that was extended before the loss is as long after it.
func TestMend19AnExtendedLeaseStays(t *testing.T) {
	shareds(t, nil, func(s *shared) {
		team := team(s)
		h := taskHold("a", team)
		h.Lease = 10 * time.Minute
		v, err := s.Shared.Admit(s.Context(), h)
		if err != nil || v.Held == nil {
			s.Fatal(v, err)
		}
		_ = s.Extend(s.Context(), v.Held, 25*time.Hour)
		s.settled()
		_ = s.Tend(s.Context())
		s.client.FlushDB(s.Context())
		_ = s.Tend(s.Context())
		s.clock.move(24 * time.Hour)
		s.swept()
		if st := s.look(team); st.tasks != 1 {
			s.Errorf("%d open tasks, want 1", st.tasks)
		}
		s.clock.move(2 * time.Hour)
		s.swept()
		s.free(team, 4)
	})
}
