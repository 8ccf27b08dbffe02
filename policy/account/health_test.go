package account_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/account"
)

var (
	worked    = account.Verdict{Outcome: account.Worked}
	throttled = account.Verdict{Outcome: account.Throttled, Why: "Throttling"}
	refused   = account.Verdict{Outcome: account.Refused, Why: "InvalidApiKey"}
	nothing   = account.Verdict{Outcome: account.Other}
	faulted   = account.Verdict{Outcome: account.Faulted}
	unpaid    = account.Verdict{Outcome: account.Refused, Why: "Arrearage"}
)

func throttledFor(seconds int) account.Verdict {
	return account.Verdict{Outcome: account.Throttled, Why: "Throttling", Wait: time.Duration(seconds) * time.Second}
}

// start is when the stories begin; they count in seconds from it.
var start = time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)

// story is an account, and what happens to it.
type story struct {
	*testing.T
	account.Health
}

func at(second float64) time.Time { return start.Add(time.Duration(second * float64(time.Second))) }

// asks sends a request, which must be a probe or not, and returns when it began.
func (s *story) asks(second float64, probe bool) time.Time {
	s.Helper()
	if got := s.View("llm-max", at(second)); got.Wait > 0 || got.Probe != probe {
		s.Errorf("second %v: the view is %+v, want one that may be asked, as a probe: %v", second, got, probe)
	}
	if got := s.Begin("llm-max", at(second)); got != probe {
		s.Errorf("second %v: the request is a probe: %v, want %v", second, got, probe)
	}
	return at(second)
}

// gets ends a request that began at a time.
func (s *story) gets(began time.Time, second float64, v account.Verdict) {
	s.End("llm-max", began, at(second), v)
}

// waits checks how many seconds a request would have to wait.
func (s *story) waits(second, seconds float64) {
	s.Helper()
	if got := s.View("llm-max", at(second)); got.Wait.Seconds() != seconds || got.Probe {
		s.Errorf("second %v: the view is %+v, want a wait of %v s", second, got, seconds)
	}
}

func TestPausesDouble(t *testing.T) {
	s := story{T: t}
	now := 0.0
	for i, wait := range []float64{1, 2, 4, 8, 16, 32, 60, 60} {
		s.gets(s.asks(now, i > 0), now, throttled)
		s.waits(now, wait)
		s.waits(now+wait-0.5, 0.5)
		now += wait
	}
	s.gets(s.asks(now, true), now, worked)
	s.asks(now, false)
	s.gets(s.asks(now, false), now+1, throttled)
	s.waits(now+1, 1) // a success has ended the doubling
}

func TestServiceSaysHowLong(t *testing.T) {
	s := story{T: t}
	s.gets(s.asks(0, false), 0, throttledFor(30))
	s.waits(0, 30)
	s.gets(at(0), 1, throttledFor(5)) // does not shorten
	s.waits(1, 29)
	s.gets(at(0), 2, throttled)
	s.waits(2, 28)
	s.gets(at(0), 3, throttledFor(60))
	s.waits(3, 60)
	s.gets(s.asks(63, true), 63, throttledFor(10_000_000))
	s.waits(63, 24*3600)
}

// Requests that were under way together are throttled together: that is one reason to wait.
func TestThrottledTogetherDoublesOnce(t *testing.T) {
	s := story{T: t}
	for range 50 {
		s.gets(at(0), 0.25, throttled)
	}
	s.waits(0.25, 1)
}

func TestOneProbeAtATime(t *testing.T) {
	s := story{T: t}
	s.gets(s.asks(0, false), 0, throttled)
	probe := s.asks(1, true)
	s.waits(1, 1)
	if s.Begin("llm-max", at(1.5)) {
		t.Error("a second request is a probe")
	}
	s.gets(probe, 5, nothing) // it says nothing, or its client has left
	probe = s.asks(6, true)
	s.waits(65, 1)
	second := s.asks(66, true) // the first has had its time
	s.gets(probe, 67, nothing)
	s.waits(67, 1) // and cannot end the second
	s.gets(second, 68, worked)
	s.asks(68, false)
}

func TestOtherModelsAreAsked(t *testing.T) {
	s := story{T: t}
	s.gets(s.asks(0, false), 0, throttledFor(30))
	if got := s.View("llm-plus", at(1)); got != (account.View{}) {
		t.Errorf("another model's view is %+v", got)
	}
}

// A request shows only what is the case after it began.
func TestLateAnswersShowNothing(t *testing.T) {
	s := story{T: t}
	early := s.asks(0, false)
	s.gets(s.asks(1, false), 1, throttled)
	s.gets(early, 1.5, worked)
	s.waits(1.5, 0.5)
	s.gets(early, 2.5, worked)
	s.gets(s.asks(3, true), 3, throttled)
	s.waits(3, 2) // it doubles on
	s.gets(s.asks(5, true), 5, worked)

	early = s.asks(20, false)
	s.gets(s.asks(21, false), 21, refused)
	s.gets(early, 22, worked)
	s.waits(22, 59)
}

func TestOutIsProbedEachMinute(t *testing.T) {
	s := story{T: t}
	s.gets(s.asks(0, false), 0, refused)
	s.waits(0, 60)
	if v := s.View("gen2.6-image", at(1)); !v.Out || v.Wait != 59*time.Second {
		t.Errorf("for another model the view is %+v", v)
	}
	s.asks(60, true) // and is never heard of again
	s.waits(60, 60)
	s.gets(s.asks(120, true), 121, refused)
	s.waits(121, 60)
	s.gets(s.asks(181, true), 185, throttled) // does not show that it is back
	s.waits(186, 55)
	s.gets(s.asks(241, true), 242, worked)
	s.asks(242, false)
}

// What was under way, and queries about tasks, may be refused while the account is out: the next probe comes at its time.
func TestOnlyAProbePutsTheNextOneOff(t *testing.T) {
	s := story{T: t}
	early := s.asks(0, false)
	s.gets(s.asks(1, false), 1, refused)
	s.gets(early, 30, refused)
	s.gets(at(40), 50, refused)
	s.waits(50, 11)
	probe := s.asks(61, true)
	s.gets(at(65), 70, refused)
	s.waits(70, 51)
	s.gets(probe, 71, refused)
	s.waits(71, 60)
}

func TestNewKeyIsTriedAtOnce(t *testing.T) {
	s := story{T: t}
	early := s.asks(0, false)
	s.gets(s.asks(0, false), 1, refused)
	s.Renewed(at(5))
	probe := s.asks(5, true)
	s.waits(6, 59)
	s.gets(early, 7, refused) // of the earlier key
	s.gets(early, 8, worked)  // likewise
	s.waits(8, 57)
	s.gets(probe, 9, worked)
	s.gets(early, 10, refused)
	s.asks(10, false)
}

// A probe that is the client's own fault shows that the key is good. Whether the account pays it does not show, and the next request asks.
// Of rates it shows nothing either.
func TestAProbeThatIsTheClientsFault(t *testing.T) {
	s := story{T: t}
	s.gets(s.asks(0, false), 0, refused)
	early := at(0)
	s.gets(early, 30, faulted) // began before
	s.waits(30, 30)
	s.gets(s.asks(60, true), 60.5, faulted)
	s.asks(61, false)

	s.gets(at(61), 62, unpaid)
	s.gets(at(61), 63, faulted) // no probe
	s.waits(63, 59)
	s.gets(s.asks(122, true), 122.5, faulted)
	probe := s.asks(123, true)
	s.waits(124, 59)
	s.gets(probe, 125, worked)
	s.asks(126, false)

	s.gets(at(126), 127, throttledFor(5))
	s.gets(s.asks(132, true), 133, faulted)
	s.gets(s.asks(134, true), 135, worked)
	s.asks(136, false)
}

// A key that changes while a faulty request runs is not shown to be good by it.
func TestAFaultyRequestWithTheKeyBeforeShowsNothing(t *testing.T) {
	s := story{T: t}
	s.gets(s.asks(0, false), 0, refused)
	probe := s.asks(60, true)
	s.Renewed(at(61))
	s.gets(probe, 62, faulted)
	s.gets(s.asks(63, true), 64, refused)
	s.waits(64, 60)
}

// A probe that was never sent, because something else refused its request, leaves the next request the probe.
func TestAProbeThatIsNotSentIsGivenBack(t *testing.T) {
	s := story{T: t}
	s.gets(s.asks(0, false), 0, refused)
	s.Drop("llm-max", s.asks(60, true))
	earlier := s.asks(60, true)
	s.waits(61, 59)
	s.Drop("llm-max", s.asks(120, true))
	s.Drop("llm-max", earlier) // not the last one
	s.gets(s.asks(121, true), 122, worked)
	s.gets(s.asks(122, false), 122, throttledFor(5))
	s.Drop("llm-max", s.asks(127, true))
	s.asks(127, true)
	s.waits(128, 1)
}

func TestProcessesShareAPause(t *testing.T) {
	a, b := story{T: t}, story{T: t}
	for i := range 3 {
		a.gets(at(float64(i*10)), float64(i*10), throttled)
	}
	b.gets(at(20), 20, throttledFor(2))
	b.Learn("llm-max", a.Pause("llm-max"), at(20))
	a.Learn("llm-max", b.Pause("llm-max"), at(20)) // the shorter one changes nothing
	a.waits(20, 4)
	b.waits(20, 4)
	b.gets(b.asks(24, true), 24, throttled)
	b.waits(24, 8) // it doubles on from what the other knows
	b.Learn("llm-max", account.Pause{Until: at(23)}, at(25))
	b.waits(25, 7)
	b.Learn("gen2.6-image", account.Pause{Until: at(23)}, at(25)) // it is over
	if v := b.View("gen2.6-image", at(25)); v != (account.View{}) {
		t.Errorf("after a pause that is over the view is %+v", v)
	}
	if rest := b.Standing(1, at(25)).Cooling; len(rest) != 1 || !rest[0].Until.Equal(at(32)) {
		t.Errorf("it stands as cooling: %v", rest)
	}
}

// What another process has heard is as good as heard here: an older request that ends well does not end the doubling.
func TestAnOlderSuccessDoesNotEndTheDoublingOfAnother(t *testing.T) {
	a, b := story{T: t}, story{T: t}
	for _, second := range []float64{10, 11, 13} {
		a.gets(at(second), second, throttled)
	}
	early := b.asks(9, false)
	b.Learn("llm-max", a.Pause("llm-max"), at(13.5))
	b.gets(early, 14, worked)
	b.waits(14, 3)
	b.Learn("llm-max", a.Pause("llm-max"), at(14.5)) // it is told again and again
	b.gets(early, 15, worked)
	b.gets(b.asks(17, true), 17, throttled)
	b.waits(17, 8)
	b.gets(b.asks(25, true), 26, worked)
	b.asks(27, false)
}

func TestStanding(t *testing.T) {
	s := story{T: t}
	check := func(what string, weight int, second float64, want account.Standing) {
		t.Helper()
		want.Weight = weight
		if diff := cmp.Diff(want, s.Standing(weight, at(second))); diff != "" {
			t.Errorf("%s (- want, + got):\n%s", what, diff)
		}
	}
	check("at the start", 3, 0, account.Standing{State: account.OK})
	s.End("llm-max", at(0), at(1), throttledFor(30))
	s.End("gen2.6-image", at(0), at(2), throttledFor(8))
	rests := []account.Rest{{Model: "gen2.6-image", Until: at(10)}, {Model: "llm-max", Until: at(31)}}
	check("two models cool", 3, 3, account.Standing{State: account.Cooling, Why: "Throttling", Since: at(1), Cooling: rests})
	check("it drains", 0, 3, account.Standing{State: account.Draining, Cooling: rests})
	check("one cools", 3, 10, account.Standing{State: account.Cooling, Why: "Throttling", Since: at(1), Cooling: rests[1:]})
	check("no one cools", 3, 31, account.Standing{State: account.OK})
	if !s.Begin("llm-max", at(31)) {
		t.Error("no probe")
	}
	check("others wait for a probe", 3, 31.5, account.Standing{State: account.Cooling, Why: "Throttling", Since: at(1),
		Cooling: []account.Rest{{Model: "llm-max", Until: at(32.5)}}})
	s.End("llm-max", at(31), at(32), refused)
	s.End("llm-max", at(31), at(33), account.Verdict{Outcome: account.Refused, Why: "Arrearage"})
	check("it is out", 0, 90, account.Standing{State: account.Out, Why: "Arrearage", Since: at(32)})
}

// Clients choose the names of models, so those that the process remembers are bounded.
func TestPausesAreBounded(t *testing.T) {
	s := story{T: t}
	for i := range 5000 {
		s.End(fmt.Sprint("model-", i), at(0), at(0), throttledFor(30))
	}
	if got := len(s.Standing(1, at(1)).Cooling); got != 1000 {
		t.Errorf("%d models are remembered, want 1,000", got)
	}
	s.gets(at(40), 40, throttledFor(5)) // there is room again
	s.waits(40, 5)
}

// Whatever happens to an account: no pause becomes shorter, probes come one at a time, and the account comes back.
func TestAnyStory(t *testing.T) {
	for seed := range uint64(400) {
		m := model{story: story{T: t}, random: rand.New(rand.NewPCG(seed, 1)), now: start}
		for range 200 {
			m.now = m.now.Add(time.Duration(m.random.Int64N(int64(20 * time.Second))))
			before := m.Pause("llm-max").Until
			m.step()
			if after := m.Pause("llm-max").Until; before.After(m.now) && after.Before(before) {
				t.Fatalf("seed %d: at %v a pause until %v ends at %v", seed, m.now, before, after)
			}
		}
		m.now = m.now.Add(3 * time.Minute) // the longest that the service asks for here, and a probe's lease
		if !m.Begin("llm-max", m.now) && m.View("llm-max", m.now) != (account.View{}) {
			t.Fatalf("seed %d: no request may be the probe", seed)
		}
		m.End("llm-max", m.now, m.now, worked)
		if v := m.View("llm-max", m.now); v != (account.View{}) {
			t.Fatalf("seed %d: after a success the view is %+v", seed, v)
		}
	}
}

// model sends requests as a gateway does, and knows which of them is a probe.
type model struct {
	story

	random *rand.Rand
	now    time.Time
	open   []time.Time // when the requests under way began
	probe  time.Time   // when the probe under way began; zero: none is
}

func (m *model) step() {
	switch m.random.IntN(8) {
	case 0, 1, 2:
		m.begins()
	case 3, 4, 5:
		if len(m.open) > 0 {
			m.ends(m.random.IntN(len(m.open)))
		}
	case 6:
		var other account.Health
		other.End("llm-max", m.now, m.now, throttledFor(m.random.IntN(100)))
		m.Learn("llm-max", other.Pause("llm-max"), m.now)
	case 7:
		if m.random.IntN(5) == 0 {
			m.Renewed(m.now)
			m.probe = time.Time{} // the new key is tried at once
		}
	}
}

func (m *model) begins() {
	v := m.View("llm-max", m.now)
	if v.Wait > 0 {
		return
	}
	m.open = append(m.open, m.now)
	switch probe := m.Begin("llm-max", m.now); {
	case probe != v.Probe:
		m.Fatalf("at %v the view is %+v, and the request is a probe: %v", m.now, v, probe)
	case probe && !m.probe.IsZero() && m.now.Before(m.probe.Add(time.Minute)):
		m.Fatalf("a second probe after %v", m.now.Sub(m.probe))
	case probe:
		m.probe = m.now
		if m.View("llm-max", m.now).Wait == 0 {
			m.Fatalf("at %v another request is sent beside the probe", m.now)
		}
	}
}

func (m *model) ends(i int) {
	began := m.open[i]
	m.open = append(m.open[:i], m.open[i+1:]...)
	m.End("llm-max", began, m.now, []account.Verdict{worked, throttled, throttledFor(m.random.IntN(100)), refused, nothing, faulted,
		unpaid}[m.random.IntN(7)])
	if began.Equal(m.probe) {
		m.probe = time.Time{}
	}
}
