package failover

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
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
