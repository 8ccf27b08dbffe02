package failover

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// tagged asks for a value of the tag.
func (s *harness) tagged(id, tag string, team *teams.Team, a limit.Amounts) (limit.Verdict, error) {
	h := hold(id, team, a)
	h.Tag, h.Lease = tag, time.Hour
	return s.Failover.Admit(s.Context(), &h)
}

// tagUse is what each value used and holds of the first quota of each value.
func (s *harness) tagUse(team *teams.Team) map[string][2]int64 {
	s.Helper()
	list, err := s.LookInside(s.Context(), team, limit.ScopeTag, s.clock.Now())
	if err != nil {
		s.Fatal(err)
	}
	use := map[string][2]int64{}
	for i := range list {
		use[list[i].Of] = [2]int64{list[i].Used, list[i].Held}
	}
	return use
}

// Without Redis, requests that a quota of each value of the tag counts are refused. Requests that are charged in none of its
// units spend the allowance, and what was settled meanwhile is charged to its value.
func TestTagQuotasAwaitRedis(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team := limittest.Team(s, "tag_key: project", "tag_quotas: {images: {day: 100}}", "quotas: {tokens: {day: 10000}, images: {day: 10000}}")
		text, image := limit.Amounts{limit.Requests: 1, limit.Tokens: 5}, limit.Amounts{limit.Requests: 1, limit.Images: 4}
		before, err := s.tagged("before", "alpha", team, image)
		if err != nil {
			s.Fatal(err)
		}
		s.charge(s.must("seen", team, text), team, text)
		s.settled()
		s.back() // it has an allowance from now on
		for _, a := range s.teams.Get(team.ID).allowances {
			if a.left[limit.Images] != 0 || a.left[limit.Tokens] == 0 {
				s.Errorf("the allowance is %v", a.left)
			}
		}
		for name, mode := range map[string]int32{"away": away, "silent": silent} {
			s.fault.mode.Store(mode)
			if v, err := s.tagged("image "+name, "alpha", team, image); v.Held != nil || err == nil {
				s.Errorf("%s: %+v, %v", name, v, err)
			}
			v, err := s.tagged("text "+name, "alpha", team, text)
			if v.Held == nil || err != nil {
				s.Fatalf("%s: %+v, %v", name, v, err)
			}
			s.charge(v.Held, team, text)
			s.back()
		}
		s.fault.mode.Store(away)
		s.charge(before.Held, team, limit.Amounts{limit.Requests: 1, limit.Images: 3})
		s.settled()
		s.back()
		if diff := cmp.Diff(map[string][2]int64{"alpha": {3, 0}}, s.tagUse(team)); diff != "" {
			s.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A team in shadow mode is refused nothing, and its requests are charged to their values afterwards.
func TestShadowedTagQuotasWithoutRedis(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	team := limittest.Team(t, "shadow: true", "tag_key: project", "tag_quotas: {tokens: {day: 10}}")
	five := limit.Amounts{limit.Requests: 1, limit.Tokens: 5}
	s.must("seen", team, five)
	s.back()
	s.fault.mode.Store(away)
	for n, tag := range []string{"alpha", "alpha", "alpha", ""} {
		v, err := s.tagged(id(n), tag, team, five)
		if err != nil || v.Held == nil {
			t.Fatal(v, err)
		}
		if n != 1 { // this one runs on
			s.charge(v.Held, team, five)
		}
	}
	s.back()
	if diff := cmp.Diff(map[string][2]int64{"alpha": {10, 5}, "": {5, 5}}, s.tagUse(team)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A request whose call was lost is refused. What Redis may hold for it is given back to its value.
func TestATagIsGivenBackWhatIsInDoubt(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team := limittest.Team(s, "tag_key: project", "tag_quotas: {tokens: {day: 10}}")
		s.fault.mode.Store(well)
		if _, err := s.tagged("first", "alpha", team, limit.Amounts{limit.Tokens: 2}); err != nil {
			s.Fatal(err)
		}
		s.fault.mode.Store(deaf) // Redis does its work, and the reply is lost
		if v, err := s.tagged("lost", "alpha", team, limit.Amounts{limit.Tokens: 8}); v.Held != nil || err == nil {
			s.Fatalf("%+v, %v", v, err)
		}
		s.fault.mode.Store(well)
		if use := s.tagUse(team)["alpha"]; use != [2]int64{0, 10} {
			s.Errorf("Redis did not hold it: %v", use)
		}
		s.back()
		s.settled()
		if v, err := s.tagged("next", "alpha", team, limit.Amounts{limit.Tokens: 8}); v.Held == nil || err != nil {
			s.Errorf("%+v, %v", v, err)
		}
	})
}

// tagStep is an event at one of two replicas.
type tagStep struct {
	Do      string
	Replica int
	Tag     string
	Amount  int64
	Mode    int32
	Which   int
}

var tagSteps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) tagStep {
	return tagStep{
		Do:      rapid.SampledFrom([]string{"admit", "admit", "admit", "settle", "settle", "release", "mode", "maintain", "tick"}).Draw(t, "do"),
		Replica: rapid.IntRange(0, 1).Draw(t, "replica"), Tag: rapid.SampledFrom([]string{"", "a"}).Draw(t, "tag"),
		Amount: rapid.Int64Range(1, 9).Draw(t, "amount"), Mode: rapid.SampledFrom([]int32{well, well, away, silent, deaf}).Draw(t, "mode"),
		Which: rapid.IntRange(0, 9).Draw(t, "which"),
	}
}), 10, 60)

// tagWorld is two replicas, and the truth about what was admitted.
type tagWorld struct {
	replicas [2]*harness
	team     *teams.Team
	truth    map[string][2]int64 // by value: what was used, and what is held
	open     []*limit.Held
}

const tagMost = 12

// TestTagQuotasThroughOutages: whatever calls of two replicas are lost, late or refused, no value passes its quota, everything that fits
// is admitted while Redis works, and in the end Redis knows what each value used.
func TestTagQuotasThroughOutages(t *testing.T) {
	client := limittest.RealRedis(t)
	rapid.Check(t, func(rt *rapid.T) {
		client.FlushDB(t.Context())
		quotas := rapid.SampledFrom([]string{"", "quotas: {tokens: {day: 100000}, requests: {day: 100000}}"}).Draw(rt, "quotas")
		if err := newTagWorld(t, client, quotas).play(tagSteps.Draw(rt, "steps")); err != nil {
			rt.Fatal(err)
		}
	})
}

func newTagWorld(t *testing.T, client redis.UniversalClient, quotas string) *tagWorld {
	w := &tagWorld{team: limittest.Team(t, "tag_key: project", fmt.Sprintf("tag_quotas: {tokens: {day: %d}}", tagMost), quotas),
		truth: map[string][2]int64{}}
	clock := limittest.NewClock()
	for i := range w.replicas {
		options := *client.(*redis.Client).Options()
		of := redis.NewClient(&options)
		w.replicas[i] = newHarness(t, of, func(c *Config) {
			c.Store, c.Now, c.Replicas = storeAt(of, clock), clock.Now, len(w.replicas)
		})
		w.replicas[i].clock = clock
	}
	return w
}

func (w *tagWorld) play(steps []tagStep) error {
	defer w.close()
	for n, step := range steps {
		if err := w.step(strconv.Itoa(n), &step); err != nil {
			return fmt.Errorf("step %d, %+v: %w", n, step, err)
		}
		for tag, is := range w.truth {
			if is[0]+is[1] > tagMost {
				return fmt.Errorf("after step %d, %+v: the value %q has %v of %d", n, step, tag, is, tagMost)
			}
		}
	}
	return w.agrees()
}

func (w *tagWorld) step(id string, step *tagStep) error {
	s := w.replicas[step.Replica]
	switch step.Do {
	case "admit":
		working := w.calm()
		v, err := s.tagged(id, step.Tag, w.team, limit.Amounts{limit.Requests: 1, limit.Tokens: step.Amount})
		is := w.truth[step.Tag]
		fits := is[0]+is[1]+step.Amount <= tagMost
		if working && (err != nil || (v.Held != nil) != fits) {
			return fmt.Errorf("%+v, %w; it fits: %v", v, err, fits)
		}
		if v.Held != nil {
			w.open = append(w.open, v.Held)
			w.truth[step.Tag] = [2]int64{is[0], is[1] + step.Amount}
		}
	case "settle", "release":
		if len(w.open) == 0 {
			return nil
		}
		h := w.open[step.Which%len(w.open)]
		w.open = append(w.open[:step.Which%len(w.open)], w.open[step.Which%len(w.open)+1:]...)
		used := min(step.Amount, h.Amounts[limit.Tokens])
		if step.Do == "release" {
			used = 0
		}
		is := w.truth[h.Tag.Name()]
		w.truth[h.Tag.Name()] = [2]int64{is[0] + used, is[1] - h.Amounts[limit.Tokens]}
		_, _ = s.Failover.Settle(s.Context(), &limit.Charge{Held: h, Team: w.team, Amounts: limit.Amounts{limit.Tokens: used}})
	case "mode":
		s.fault.mode.Store(step.Mode)
	case "maintain":
		_ = s.Maintain(s.Context())
	case "tick":
		s.clock.Move(time.Duration(step.Amount) * time.Second)
	}
	return nil
}

// calm reports whether every call works, and nothing is in doubt or waits.
func (w *tagWorld) calm() bool {
	for _, s := range w.replicas {
		if s.fault.mode.Load() != well || s.Degraded() || s.queue.waiting() > 0 || s.unreported() > 0 {
			return false
		}
	}
	return true
}

// agrees repairs everything, and reports whether Redis knows the truth.
func (w *tagWorld) agrees() (errs error) {
	for range 2 {
		for _, s := range w.replicas {
			s.fault.mode.Store(well)
			s.clock.Move(11 * time.Second)
			errs = errors.Join(errs, s.Maintain(s.Context()))
		}
	}
	for tag, is := range w.truth {
		if is == [2]int64{} {
			delete(w.truth, tag)
		}
	}
	if diff := cmp.Diff(w.truth, w.replicas[0].tagUse(w.team)); diff != "" {
		return fmt.Errorf("(-truth +Redis):\n%s", diff)
	}
	return errs
}

func (w *tagWorld) close() {
	for _, s := range w.replicas {
		_ = s.Close(s.Context())
		_ = s.client.Close()
	}
}
