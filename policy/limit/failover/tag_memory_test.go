package failover

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// What values of a tag used and hold outlives a Redis that loses its memory, or goes back to an older copy of it, by what the
// replicas know: the largest count that one of them received.
func TestTagUseOutlivesRedisMemory(t *testing.T) {
	for name, older := range map[string]bool{"forgets": false, "goes back": true} {
		t.Run(name, func(t *testing.T) {
			client := limittest.RealRedis(t)
			w := newTagWorld(t, client, "")
			team := limittest.Team(t, "tag_key: project", "tag_quotas: {tokens: {day: 20, month: 22}}")
			use := func(s *harness, id, tag string, tokens int64) {
				t.Helper()
				v, err := s.tagged(id, tag, team, limit.Amounts{limit.Tokens: tokens})
				if err != nil || v.Held == nil {
					t.Fatal(id, v, err)
				}
				if _, err := s.Failover.Settle(t.Context(), &limit.Charge{Held: v.Held, Team: team,
					Amounts: limit.Amounts{limit.Tokens: tokens}}); err != nil {
					t.Fatal(err)
				}
			}
			a, b := w.replicas[0], w.replicas[1]
			use(a, "yesterday", "alpha", 3)
			a.clock.Move(24 * time.Hour)
			use(a, "first", "alpha", 5)
			use(b, "without", "", 6)
			w.maintain(t)
			back := limittest.Copy(t, client)
			use(b, "second", "alpha", 4)
			open, err := a.tagged("open", "alpha", team, limit.Amounts{limit.Tokens: 2})
			if err != nil {
				t.Fatal(err)
			}
			use(a, "third", "beta", 7)
			w.maintain(t) // each has sent a beat since
			if older {
				back()
			} else {
				client.FlushDB(t.Context())
			}
			want := map[string][2]int64{"alpha": {9, 2}, "beta": {7, 0}, "": {6, 0}}
			w.restored(t, team)
			if diff := cmp.Diff(want, dayUse(a, team)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			use(b, "fourth", "alpha", 4)
			if _, err := b.Failover.Settle(t.Context(), &limit.Charge{Held: open.Held, Team: team,
				Amounts: limit.Amounts{limit.Tokens: 1}}); err != nil {
				t.Fatal(err)
			}
			want["alpha"] = [2]int64{14, 0}
			if diff := cmp.Diff(want, dayUse(a, team)); diff != "" {
				t.Errorf("and later (-want +got):\n%s", diff)
			}
			if v, err := a.tagged("month", "alpha", team, limit.Amounts{limit.Tokens: 6}); err != nil || v.Held != nil ||
				v.Fault.Name() != "tokens-month-tag" || v.Fault.Used != 17 {
				t.Errorf("3 of yesterday, 14 and 6 fit into 22: %+v, %v", v, err)
			}
		})
	}
}

// maintain does the background work of both replicas, so that they know each other.
func (w *tagWorld) maintain(t *testing.T) {
	t.Helper()
	for range 2 {
		for _, s := range w.replicas {
			if err := s.Maintain(t.Context()); err != nil {
				t.Error(err)
			}
		}
		w.replicas[0].clock.Move(time.Second)
	}
}

// restored waits until both replicas have restored what they know. Until then nothing is admitted.
func (w *tagWorld) restored(t *testing.T, team *teams.Team) {
	t.Helper()
	_ = w.replicas[0].Maintain(t.Context()) // its error names what it restored
	if v, err := w.replicas[0].tagged("early", "alpha", team, limit.Amounts{limit.Tokens: 1}); err == nil {
		t.Errorf("while it is restored: %+v", v)
	}
	_ = w.replicas[1].Maintain(t.Context())
	for _, s := range w.replicas {
		s.clock.Move(3 * time.Second)
		_ = s.Maintain(t.Context())
	}
}

// dayUse is what each value used and holds on the day.
func dayUse(s *harness, team *teams.Team) map[string][2]int64 {
	s.Helper()
	list, err := s.LookInside(s.Context(), team, limit.ScopeTag, s.clock.Now())
	if err != nil {
		s.Fatal(err)
	}
	use := map[string][2]int64{}
	for i := range list {
		if list[i].Period == teams.PeriodDay {
			use[list[i].Of] = [2]int64{list[i].Used, list[i].Held}
		}
	}
	return use
}

// The use of more values than one call restores outlives it, too.
func TestUseOfManyTagsOutlivesRedisMemory(t *testing.T) {
	client := limittest.RealRedis(t)
	s := newHarness(t, client, nil)
	team := limittest.Team(t, "tag_key: project", "tag_quotas: {tokens: {day: 20}}")
	want := map[string][2]int64{}
	for n := range 300 {
		tag, used := "v"+id(n), limit.Amounts{limit.Requests: 1, limit.Tokens: int64(1 + n%20)}
		v, err := s.tagged(id(n), tag, team, used)
		if err != nil || v.Held == nil {
			t.Fatal(v, err)
		}
		s.charge(v.Held, team, used)
		want[tag] = [2]int64{used[limit.Tokens], 0}
	}
	s.settled()
	s.back()
	client.FlushDB(t.Context())
	_ = s.Maintain(t.Context()) // its error names what it restored
	if diff := cmp.Diff(want, s.tagUse(team)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
