package failover

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// fenced counts the panics of background work.
func fenced(panics *atomic.Int64) func(c *Config) {
	return func(c *Config) {
		c.Fence = func(work func()) (whole bool) {
			defer func() {
				if recover() != nil {
					panics.Add(1)
				}
			}()
			work()
			return true
		}
	}
}

// A panic in a settlement does not end the process. What panicked is done again, and the goroutines go on with the next ones.
func TestSettlementsGoOnAfterAPanic(t *testing.T) {
	var panics atomic.Int64
	s := newHarness(t, limittest.FakeRedis(t), fenced(&panics))
	team, one := limittest.Team(t), limit.Amounts{limit.Requests: 1}
	var bad atomic.Int64
	bad.Store(2 * settlers)
	send := s.queue.send
	s.queue.send = func(ctx context.Context, batch []job) []error {
		if bad.Add(-1) >= 0 {
			panic("a fault")
		}
		return send(ctx, batch)
	}
	const n = 20
	for i := range n {
		s.charge(s.must(id(i), team, one), team, one)
		if i%3 == 0 { // several batches
			time.Sleep(2 * settlePause)
		}
	}
	s.settled()
	if err := s.Maintain(s.Context()); err != nil {
		t.Error(err)
	}
	if st := s.look(team); panics.Load() == 0 || st.Used[2*limit.Requests] != n || s.queue.waiting() != 0 {
		t.Errorf("%d panics, %d of %d charged, %d wait", panics.Load(), st.Used[2*limit.Requests], n, s.queue.waiting())
	}
}

// A panic about one team delays no other one.
func TestAPanicAboutOneTeamDelaysNoOther(t *testing.T) {
	var panics, done atomic.Int64
	s := newHarness(t, limittest.FakeRedis(t), fenced(&panics))
	err := s.atOnce([]string{"a", "b", "c"}, func(team string) error {
		if team == "b" {
			panic("a fault")
		}
		done.Add(1)
		return nil
	})
	if err == nil || panics.Load() != 1 || done.Load() != 2 {
		t.Errorf("%d panics, %d done, %v", panics.Load(), done.Load(), err)
	}
}

// A settlement that panics each time delays no other one, of its own team or of another, and nothing else of the background work.
func TestASettlementThatAlwaysPanicsDelaysNothingElse(t *testing.T) {
	var panics atomic.Int64
	s := newHarness(t, limittest.FakeRedis(t), fenced(&panics))
	file, err := teams.Parse([]byte("teams:\n  - {id: bad, quotas: {images: {day: 1000}}}\n  - {id: good, quotas: {images: {day: 1000}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	one := limit.Amounts{limit.Requests: 1, limit.Images: 1}
	send := s.queue.send
	s.queue.send = func(ctx context.Context, batch []job) []error {
		for _, j := range batch {
			if j.charge != nil && j.charge.Held.ID == id(0) {
				panic("a fault")
			}
		}
		return send(ctx, batch)
	}
	var held []*limit.Held
	for n := range 4 * queueBatch {
		held = append(held, s.must(id(n), file.List[n/queueBatch/2], one))
	}
	s.fault.mode.Store(away)
	for n, h := range held { // the first of them panics
		s.charge(h, file.List[n/queueBatch/2], one)
	}
	s.settled()
	s.fault.mode.Store(well)
	for range 2 {
		s.clock.Move(10 * time.Second)
		_ = s.Maintain(s.Context())
	}
	for i, held := range []int64{1, 0} {
		of := file.List[i]
		if st := s.look(of); st.Used[2*limit.Images] != 2*queueBatch-held || st.Held[2*limit.Images] != held {
			t.Errorf("%s: %d images are used and %d held, want %d held", of.ID, st.Used[2*limit.Images], st.Held[2*limit.Images], held)
		}
		if len(s.teams.Get(of.ID).allowances) == 0 {
			t.Errorf("%s has no allowance", of.ID)
		}
	}
	if n := s.queue.waiting(); n != 1 || panics.Load() == 0 {
		t.Errorf("%d settlements wait; %d panics", n, panics.Load())
	}
	if err := s.Close(s.Context()); err == nil || s.queue.waiting() != 1 {
		t.Errorf("it is not said that one was not posted: %v", err)
	}
}

// A step of the background work that panics stops no other one.
func TestAStepThatPanicsStopsNoOther(t *testing.T) {
	var panics atomic.Int64
	s := newHarness(t, limittest.FakeRedis(t), fenced(&panics))
	team := limittest.Team(t, "quotas: {images: {day: 100}}")
	h := s.must("expires", team, limit.Amounts{limit.Images: 1})
	s.renewer.rates = nil // a fault in a renewal
	s.teams.Get(team.ID).rated = map[ratesOf]limit.Amounts{{}: {limit.Requests: 1}}
	s.clock.Move(2 * time.Hour)
	_ = s.Maintain(s.Context())
	if st := s.look(team); panics.Load() == 0 || st.Held[2*limit.Images] != 0 {
		t.Errorf("%d panics; %+v, whose lease has ended, is still held", panics.Load(), h)
	}
}
