package failover

import (
	"errors"
	"fmt"
	"strings"
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

// After a restart of Redis the accounts of one team cannot be read, and more of its charges wait than go in one batch. The charges of
// another arrive, whichever were settled first, and the error says once what fails. At the end only the broken team's are lost.
func TestABrokenTeamKeepsNoOtherWaiting(t *testing.T) {
	for _, order := range [][]string{{"broken", "sound"}, {"sound", "broken"}} {
		t.Run(order[0]+" first", func(t *testing.T) {
			s := newHarness(t, limittest.FakeRedis(t), nil)
			one := limit.Amounts{limit.Requests: 1}
			var jobs []job
			byName, number := map[string]*teams.Team{}, map[string]int{"broken": queueBatch + 72, "sound": 20}
			for _, name := range order {
				team := *limittest.Team(t)
				team.ID = name
				byName[name] = &team
				for n := range number[name] {
					jobs = append(jobs, job{charge: &limit.Charge{Held: s.must(fmt.Sprint(name, n), &team, one), Team: &team, Amounts: one}})
				}
			}
			if err := s.client.Set(t.Context(), "sl1:{broken}:quota", "x", 0).Err(); err != nil {
				t.Fatal(err)
			}
			_, _ = s.Connected(t.Context(), "one"), s.Connected(t.Context(), "two") // with its whole data
			for _, j := range jobs {
				s.queue.retain(j)
			}
			for range 5 {
				s.clock.Move(3 * time.Second)
				_ = s.Maintain(t.Context())
			}
			if st := s.look(byName["sound"]); st.Used[0] != 20 {
				t.Errorf("%d requests of the sound team are used, want 20; %d charges wait", st.Used[0], s.queue.waiting())
			}
			if err := s.queue.retry(t.Context()); err == nil || strings.Count(err.Error(), "WRONGTYPE") != 1 {
				t.Errorf("it says %v", err)
			}
			if err := s.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "200 settlements were not posted") {
				t.Errorf("it says %v at the end", err)
			}
		})
	}
}

// While Redis as a whole is away, one batch is tried, and what waits keeps its order.
func TestOneBatchIsTriedWhileRedisIsAway(t *testing.T) {
	s := newHarness(t, limittest.FakeRedis(t), nil)
	one := limit.Amounts{limit.Requests: 1}
	for n := range 3 * queueBatch {
		team := *limittest.Team(t)
		team.ID = fmt.Sprint("team", n)
		s.queue.retain(job{charge: &limit.Charge{Held: s.must("held", &team, one), Team: &team, Amounts: one}})
	}
	s.fault.mode.Store(away)
	s.fault.met.Store(0)
	if err := s.queue.retry(t.Context()); err == nil || s.fault.met.Load() > queueBatch {
		t.Errorf("%d calls, %v", s.fault.met.Load(), err)
	}
	if n := s.queue.waiting(); n != 3*queueBatch {
		t.Errorf("%d wait, want %d", n, 3*queueBatch)
	}
	s.fault.mode.Store(well)
	if err := s.queue.retry(t.Context()); err != nil || s.queue.waiting() != 0 {
		t.Errorf("%d wait after it: %v", s.queue.waiting(), err)
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
