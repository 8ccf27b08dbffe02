package failover

import (
	"context"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// holding is a form of the accounts that counts open holds.
type holding interface {
	Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error)
	Settle(ctx context.Context, c *limit.Charge) (bool, error)
	Extend(ctx context.Context, h *limit.Held, lease time.Duration) error
	Maintain(ctx context.Context) error
	Holds(ctx context.Context) (int, time.Time, error)
	OpenTasks(team string) int64
}

// holdings runs a test over every form.
func holdings(t *testing.T, test func(t *testing.T, accounts holding, clock *limittest.Clock)) {
	t.Run("memory", func(t *testing.T) {
		c := limittest.NewClock()
		test(t, limit.NewMemory(c.Now), c)
	})
	patient := func(c *Config) { c.Timeout = time.Minute } // the double takes long to count many holds
	harnesses(t, patient, func(s *harness) { test(s.T, s.Failover, s.clock) })
}

// The open holds of all teams are counted: those of requests, and of tasks until they are settled or charged.
func TestOpenHoldsAreCounted(t *testing.T) {
	holdings(t, func(t *testing.T, accounts holding, clock *limittest.Clock) {
		ctx, search := t.Context(), limittest.Team(t)
		shop := *search
		shop.ID = "shop"
		if _, _, err := accounts.Holds(ctx); err == nil {
			t.Error("nothing was counted yet, and open holds are reported")
		}
		wants := func(about string, open int, oldest time.Time) {
			t.Helper()
			clock.Move(sweepEvery)
			if err := accounts.Maintain(ctx); err != nil {
				t.Fatal(err)
			}
			if n, at, err := accounts.Holds(ctx); err != nil || n != open || !at.Equal(oldest) {
				t.Errorf("%s: %d are open, the oldest since %v, %v; want %d since %v", about, n, at, err, open, oldest)
			}
		}
		admit := func(h limit.Hold, lease time.Duration) *limit.Held {
			t.Helper()
			h.Lease = lease
			v, err := accounts.Admit(ctx, &h)
			if err != nil || v.Held == nil {
				t.Fatalf("%+v %v", v, err)
			}
			return v.Held
		}
		wants("at first", 0, time.Time{})
		first := clock.Now()
		task := hold(idAt(first, 1), search, limit.Amounts{limit.Requests: 1, limit.Images: 4})
		task.Task = true
		made := admit(task, 10*time.Minute)
		if err := accounts.Extend(ctx, made, 25*time.Hour); err != nil {
			t.Fatal(err)
		}
		if s, ok := accounts.(*Failover); ok {
			(&harness{Failover: s}).settled()
		}
		clock.Move(time.Minute)
		second := clock.Now()
		text := admit(hold(idAt(second, 2), &shop, limit.Amounts{limit.Requests: 1}), 10*time.Minute)
		admit(hold(idAt(second, 3), search, limit.Amounts{limit.Requests: 1}), 10*time.Minute)
		wants("a task and two requests", 3, first)
		if _, err := accounts.Settle(ctx, &limit.Charge{Held: made, Team: search,
			Amounts: limit.Amounts{limit.Requests: 1, limit.Images: 3}}); err != nil {
			t.Fatal(err)
		}
		wants("the task was settled", 2, second)
		if _, err := accounts.Settle(ctx, &limit.Charge{Held: text, Team: &shop, Amounts: limit.Amounts{limit.Requests: 1}}); err != nil {
			t.Fatal(err)
		}
		wants("the other team's request was settled", 1, second)
		clock.Move(10 * time.Minute)
		wants("the last lease has ended", 0, time.Time{})
	})
}

// openStep is how many holds one call reads.
const openStep = 1000

// If there are more holds than one call reads, all are counted, and the oldest is found whatever the leases.
func TestManyOpenHoldsAreCounted(t *testing.T) {
	holdings(t, func(t *testing.T, accounts holding, clock *limittest.Clock) {
		search := limittest.Team(t)
		oldest := clock.Now().Add(-time.Hour)
		for n := range 2*openStep + 1 {
			h := hold(idAt(clock.Now().Add(time.Duration(n)*time.Millisecond), n), search, limit.Amounts{limit.Requests: 1})
			h.Lease = time.Hour
			if n == 1700 {
				if _, memory := accounts.(*limit.Memory); !memory { // it uses that process's clock
					h.ID = idAt(oldest, n)
				} else {
					oldest = clock.Now()
				}
			}
			if v, err := accounts.Admit(t.Context(), &h); err != nil || v.Held == nil {
				t.Fatalf("%+v %v", v, err)
			}
		}
		if err := accounts.Maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, at, err := accounts.Holds(t.Context()); err != nil || n != 2*openStep+1 || !at.Equal(oldest) {
			t.Errorf("%d since %v, %v; want %d since %v", n, at, err, 2*openStep+1, oldest)
		}
	})
}

// While Redis is away the last count is reported, plus this process's holds; afterwards nothing counts twice.
func TestOpenHoldsWithoutRedis(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team, one := limittest.Team(s), limit.Amounts{limit.Requests: 1}
		wants := func(about string, open int, oldest time.Time) {
			s.Helper()
			s.clock.Move(sweepEvery)
			if err := s.Maintain(s.Context()); err != nil {
				s.Fatal(err)
			}
			if n, at, err := s.Holds(s.Context()); err != nil || n != open || !at.Equal(oldest) {
				s.Errorf("%s: %d since %v, %v; want %d since %v", about, n, at, err, open, oldest)
			}
		}
		s.fault.mode.Store(away)
		if err := s.Maintain(s.Context()); err != nil {
			s.Error(err)
		}
		if _, _, err := s.Holds(s.Context()); err == nil {
			s.Error("Redis was never seen, and open holds are reported")
		}
		s.fault.mode.Store(well)
		first := s.clock.Now()
		s.must(idAt(first, 1), team, one)
		wants("with Redis", 1, first)
		s.fault.mode.Store(away)
		s.must(idAt(s.clock.Now(), 2), team, one)
		wants("without", 2, first)
		s.fault.mode.Store(well)
		wants("with it again", 2, first)
		s.fault.mode.Store(away)
		s.must(idAt(s.clock.Now(), 3), team, one)
		s.fault.mode.Store(well)
		wants("of what Redis was told it tells", 3, first)
	})
}

// The number of a team's open tasks is known without a call, also for a team that this process never met.
func TestOpenTasksAreKnown(t *testing.T) {
	holdings(t, func(t *testing.T, accounts holding, clock *limittest.Clock) {
		search := limittest.Team(t)
		wants := func(about string, want int64) {
			t.Helper()
			if n := accounts.OpenTasks("search"); n != want {
				t.Errorf("%s: %d, want %d", about, n, want)
			}
		}
		wants("never seen", 0)
		var made *limit.Held
		for n := range 3 {
			h := hold(idAt(clock.Now(), n), search, limit.Amounts{limit.Requests: 1, limit.Images: 1})
			h.Task, h.Lease = n > 0, time.Hour
			v, err := accounts.Admit(t.Context(), &h)
			if err != nil || v.Held == nil {
				t.Fatalf("%+v %v", v, err)
			}
			made = v.Held
		}
		wants("two tasks and another request", 2)
		if _, err := accounts.Settle(t.Context(), &limit.Charge{Held: made, Team: search}); err != nil {
			t.Fatal(err)
		}
		clock.Move(sweepEvery)
		if err := accounts.Maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
		wants("one is settled", 1)
		if s, ok := accounts.(*Failover); ok {
			other := New(*s.Config)
			defer func() { _ = other.Close(t.Context()) }()
			if err := other.Maintain(t.Context()); err != nil {
				t.Fatal(err)
			}
			accounts = other
			wants("of another replica", 1)
		}
	})
}
