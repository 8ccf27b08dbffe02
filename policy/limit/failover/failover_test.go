package failover

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
)

// A Redis that fails on command: it is known to be away, does not answer, or does its work and the reply is lost.
type fault struct {
	mode atomic.Int32
	met  atomic.Int64 // calls that it failed
}

const (
	well int32 = iota
	away
	silent
	deaf
)

var errSilent = &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}

func (f *fault) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *fault) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return f.do(func() error { return next(ctx, cmd) }, cmd)
	}
}

func (f *fault) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return f.do(func() error { return next(ctx, cmds) }, cmds...)
	}
}

func (f *fault) do(next func() error, cmds ...redis.Cmder) error {
	var err error
	switch f.mode.Load() {
	case well:
		return next()
	case away:
		err = limit.ErrAway
	case deaf:
		_ = next()
		err = errSilent
	default:
		err = errSilent
	}
	f.met.Add(1)
	for _, cmd := range cmds {
		cmd.SetErr(err)
	}
	return err
}

// harness is a Failover over a Redis that can fail, by one clock.
type harness struct {
	*Failover
	*testing.T
	client redis.UniversalClient
	clock  *limittest.Clock
	fault  *fault
}

func newHarness(t *testing.T, client redis.UniversalClient, change func(c *Config)) *harness {
	s := &harness{T: t, client: client, clock: limittest.NewClock(), fault: &fault{}}
	client.AddHook(s.fault)
	config := Config{Store: storeAt(client, s.clock), Timeout: time.Minute, Replicas: 1, Now: s.clock.Now}
	if change != nil {
		change(&config)
	}
	s.Failover = New(config)
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

// storeAt opens the accounts in Redis with a clock.
func storeAt(client redis.UniversalClient, clock *limittest.Clock) *redisstore.Store {
	r := redisstore.New(client)
	r.Clock, r.Now = clock.Micros, clock.Wrong
	return r
}

// look reads a team's accounts without earlier knowledge, and changes nothing.
func (s *harness) look(team *teams.Team) limit.State {
	s.Helper()
	st, err := storeAt(s.client, s.clock).Look(context.Background(), team)
	if err != nil {
		s.Fatal(err)
	}
	return st
}

func (s *harness) sweep(team string) {
	s.Helper()
	if _, err := s.Store.Sweep(context.Background(), team, 100); err != nil {
		s.Fatal(err)
	}
}

// elsewhere admits a hold at a replica without earlier knowledge.
func (s *harness) elsewhere(h *limit.Hold) (limit.Verdict, error) {
	v, _, err := storeAt(s.client, s.clock).Place(context.Background(), h, &redisstore.Loan{})
	return v, err
}

// harnesses runs a test over a real Redis and over its double.
func harnesses(t *testing.T, change func(c *Config), test func(s *harness)) {
	limittest.Redises(t, func(t *testing.T, client redis.UniversalClient) { test(newHarness(t, client, change)) })
}

func (s *harness) ask(id string, team *teams.Team, a limit.Amounts) (limit.Verdict, error) {
	h := hold(id, team, a)
	h.Lease = time.Hour
	return s.Failover.Admit(context.Background(), &h)
}

func (s *harness) must(id string, team *teams.Team, a limit.Amounts) *limit.Held {
	s.Helper()
	v, err := s.ask(id, team, a)
	if err != nil || v.Held == nil {
		s.Fatalf("%s was not admitted: %+v, %v", id, v, err)
	}
	return v.Held
}

func (s *harness) charge(h *limit.Held, team *teams.Team, a limit.Amounts) {
	s.SettleLater(&limit.Charge{Held: h, Team: team, Amounts: a})
}

// settled waits until the goroutines have done all jobs.
func (s *harness) settled() {
	s.queue.drain(context.Background())
	s.queue.closed, s.queue.jobs = false, make(chan job, queueLength)
	s.queue.ended.Go(s.queue.work)
}

// back restores Redis and every team.
func (s *harness) back() {
	s.Helper()
	s.fault.mode.Store(well)
	if err := s.Maintain(context.Background()); err != nil {
		s.Errorf("maintain: %v", err)
	}
	if s.Degraded() {
		s.Errorf("still without Redis: %v", s.State())
	}
}

// Without Redis a team goes on with this process's share of its rates, and with its allowance of quotas. Every charge
// is posted when Redis is back.
func TestWithoutRedis(t *testing.T) {
	harnesses(t, func(c *Config) { c.Replicas = 2 }, func(s *harness) {
		team := limittest.Team(s, "rates: {requests: {per: 1m, limit: 60, burst: 20}}", "quotas: {tokens: {day: 100000}}")
		one := limit.Amounts{limit.Requests: 1, limit.Tokens: 10}
		s.charge(s.must("first", team, one), team, one)
		s.settled()
		s.back() // it has an allowance from now on
		s.fault.mode.Store(away)
		admitted := 0
		var held []*limit.Held
		for n := range 30 {
			if v, err := s.ask("a"+id(n), team, one); err != nil {
				t.Fatal(err)
			} else if v.Held != nil {
				admitted++
				held = append(held, v.Held)
			} else if v.Reason != limit.ReasonRate || v.Wait != 2*time.Second {
				t.Fatalf("%+v", v)
			}
		}
		if admitted != 9 { // half of the burst, less the one that Redis admitted
			t.Errorf("%d admitted, want 9", admitted)
		}
		if !s.Degraded() || !strings.Contains(s.State().Error(), "Redis has been away") {
			t.Errorf("state: %v", s.State())
		}
		for _, h := range held[:5] {
			s.charge(h, team, limit.Amounts{limit.Requests: 1, limit.Tokens: 7})
		}
		s.back()
		st := s.look(team)
		if q := 2 * limit.Tokens; st.Used[q] != 10+5*7 || st.Held[q] != 4*10 || st.Used[0] != 6 || st.Held[0] != 4 {
			t.Errorf("Redis does not know all: %+v", st)
		}
		if st.Rates[limit.Requests].Left != 10 {
			t.Errorf("%d left in Redis's bucket, want 10", st.Rates[limit.Requests].Left)
		}
		for _, h := range held[5:] {
			s.charge(h, team, limit.Amounts{limit.Requests: 1, limit.Tokens: 8})
		}
		s.settled()
		if st := s.look(team); st.Used[2*limit.Tokens] != 10+5*7+4*8 || st.Held != [limit.QuotaCount]int64{} || st.Tasks != 0 {
			t.Errorf("in the end: %+v", st)
		}
	})
}

// Quotas without Redis: the allowance and no more; 503 without one, and once its lease has ended.
func TestQuotasWithoutRedis(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team := limittest.Team(s, "quotas: {images: {day: 1000}}")
		four := limit.Amounts{limit.Requests: 1, limit.Images: 4}
		s.fault.mode.Store(away)
		if v, err := s.ask("never seen", team, four); err == nil {
			t.Errorf("nothing is set aside for the team: %+v", v)
		}
		s.back()
		s.charge(s.must("a", team, limit.Amounts{limit.Requests: 1, limit.Images: 600}), team,
			limit.Amounts{limit.Requests: 1, limit.Images: 600})
		s.settled()
		s.clock.Move(renewEvery)
		s.back()
		s.fault.mode.Store(away)
		admitted := 0
		for n := range 12 {
			if v, err := s.ask(id(n), team, four); err == nil && v.Held != nil {
				admitted++
				s.charge(v.Held, team, four)
			} else if err == nil {
				t.Errorf("400 are left in total, and yet: %+v", v)
			}
			s.clock.Move(30 * time.Second) // the lease is longer
		}
		if admitted != 10 {
			t.Errorf("%d requests of 4 images were admitted of an allowance of 40", admitted)
		}
		if v, err := s.ask("too much", team, limit.Amounts{limit.Requests: 1, limit.Images: 404}); err != nil || v.Reason != limit.ReasonQuota ||
			v.Fault.Left != 360 {
			t.Errorf("no allowance is that large: %+v, %v", v, err)
		}
		s.back()
		if st := s.look(team); st.Used[2*limit.Images] != 640 {
			t.Errorf("%d images used, want 640", st.Used[2*limit.Images])
		}
		s.must("b", team, four)
		s.clock.Move(renewEvery)
		s.back()
		s.clock.Move(bridgeDefault)
		s.fault.mode.Store(away)
		if v, err := s.ask("old", team, four); err == nil {
			t.Errorf("its lease has ended: %+v", v)
		}
	})
}

// A day that begins without Redis begins with the allowance that was made for it in advance.
func TestANewDayWithoutRedis(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		s.clock.Move(11*time.Hour + 59*time.Minute + 50*time.Second)
		team := limittest.Team(s, "quotas: {images: {day: 100, month: 150}}")
		all := limit.Amounts{limit.Requests: 1, limit.Images: 100}
		s.charge(s.must("a", team, all), team, all)
		s.settled()
		s.back() // it has an allowance of the next day from now on
		s.fault.mode.Store(away)
		if v, err := s.ask("b", team, limit.Amounts{limit.Images: 5}); err != nil || v.Reason != limit.ReasonQuota ||
			v.Fault.Period != teams.PeriodDay {
			t.Errorf("the day is used up: %+v, %v", v, err)
		}
		s.clock.Move(10 * time.Second)
		s.charge(s.must("c", team, limit.Amounts{limit.Images: 5}), team, limit.Amounts{limit.Images: 5})
		if v, err := s.ask("d", team, limit.Amounts{limit.Images: 46}); err != nil || v.Reason != limit.ReasonQuota ||
			v.Fault.Period != teams.PeriodMonth {
			t.Errorf("the month is used up: %+v, %v", v, err)
		}
		s.back()
		if st := s.look(team); st.Used[2*limit.Images] != 5 || st.Used[2*limit.Images+1] != 105 {
			t.Errorf("%+v", st)
		}
	})
}

// A process that starts without Redis starts with empty buckets, so many restarts make no burst.
func TestStartedWithoutRedis(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team := limittest.Team(s, "rates: {requests: {per: 1m, limit: 60}}")
		s.fault.mode.Store(away)
		if v, err := s.ask("a", team, limit.Amounts{limit.Requests: 1}); err != nil || v.Held != nil || v.Wait != time.Second {
			t.Errorf("%+v, %v", v, err)
		}
		s.clock.Move(2 * time.Second)
		s.must("b", team, limit.Amounts{limit.Requests: 1})
		s.must("c", team, limit.Amounts{limit.Requests: 1})
		if v, _ := s.ask("d", team, limit.Amounts{limit.Requests: 1}); v.Held != nil {
			t.Error("a bucket that began empty has more than its rate")
		}
	})
}

// Redis comes and goes, and that gives no team more than its bucket and its rate.
func TestAFlappingRedisGivesNoTeamMore(t *testing.T) {
	collectSeldom(t)
	harnesses(t, nil, func(s *harness) {
		team := limittest.Team(s, "rates: {requests: {per: 1s, limit: 50, burst: 100}}")
		admitted, n := 0, 0
		for tick := range 600 { // a minute, by tenths of a second
			switch tick % 10 {
			case 3:
				s.fault.mode.Store([]int32{away, silent, deaf}[tick/10%3])
			case 8:
				if !s.Degraded() {
					t.Fatalf("tick %d: Redis is not away", tick)
				}
				s.fault.mode.Store(well)
				_ = s.Maintain(context.Background())
			}
			for range 20 {
				n++
				v, err := s.ask(id(n), team, limit.Amounts{limit.Requests: 1})
				if err != nil {
					t.Fatal(err)
				}
				if v.Held != nil {
					admitted++
					s.charge(v.Held, team, limit.Amounts{limit.Requests: 1})
				}
			}
			s.settled()
			s.clock.Move(100 * time.Millisecond)
		}
		s.settled()
		s.back()
		bound := 100 + 50*60
		t.Logf("%d admitted, %.3f of the bound", admitted, float64(admitted)/float64(bound))
		if admitted > bound*102/100 || admitted < bound*80/100 {
			t.Errorf("%d admitted, the bucket and the rate are %d", admitted, bound)
		}
		if st := s.look(team); st.Used[0] != int64(admitted) || st.Held[0] != 0 {
			t.Errorf("%d used and %d held of %d admitted", st.Used[0], st.Held[0], admitted)
		}
	})
}

// The reply of any call is lost once, after it took effect or before; nothing is charged twice or lost.
func TestLostReplies(t *testing.T) {
	for what, mode := range map[string]int32{"took effect": deaf, "did not": silent} {
		for _, when := range []string{"admit", "settle", "post", "extend", "sweep"} {
			t.Run(what+"/"+when, func(t *testing.T) {
				harnesses(t, nil, func(s *harness) {
					team := limittest.Team(s, "rates: {requests: {per: 1s, limit: 1000}}", "quotas: {tokens: {day: 100000}}")
					s.must("zero", team, limit.Amounts{}) // so that the team is known
					s.back()                              // and has an allowance
					lose := func(step string, do func()) {
						if step != when {
							do()
							return
						}
						met := s.fault.met.Load()
						s.fault.mode.Store(mode)
						do()
						s.settled()
						s.fault.mode.Store(well)
						if s.fault.met.Load() == met {
							t.Errorf("no reply to %s is lost", step)
						}
					}
					ten, seven := limit.Amounts{limit.Requests: 1, limit.Tokens: 10}, limit.Amounts{limit.Requests: 1, limit.Tokens: 7}
					var h *limit.Held
					lose("admit", func() { h = s.must("a", team, ten) })
					lose("extend", func() { _ = s.Extend(s.Context(), h, 2*time.Hour) })
					lose("settle", func() { s.charge(h, team, seven) })
					s.settled()
					if when == "post" {
						s.fault.mode.Store(away)
						s.charge(s.must("b", team, ten), team, seven)
						lose("post", func() { _ = s.Maintain(s.Context()) })
					}
					lose("sweep", func() {
						_, _ = s.Store.Sweep(s.Context(), "search", 10)
						_ = s.Maintain(s.Context())
					})
					s.clock.Move(3 * time.Hour)
					s.back()
					want := int64(7)
					if when == "post" {
						want = 14
					}
					st := s.look(team)
					if st.Used[2*limit.Tokens] != want || st.Used[0] != want/7 || st.Held != [limit.QuotaCount]int64{} {
						t.Errorf("%d tokens used in %d requests, %v held; want %d", st.Used[2*limit.Tokens], st.Used[0], st.Held, want)
					}
					rows, err := s.Rows(s.Context(), limit.Query{Teams: []string{"search"}, Days: []int{20261121}})
					if err != nil || len(rows) != 1 || rows[0].Used[limit.Tokens] != want {
						t.Errorf("the ledger has %+v, %v", rows, err)
					}
				})
			})
		}
	}
}

// With ON_STATE_LOSS=refuse nothing is admitted without Redis, and a hold whose reply was lost is given back.
func TestRefuseWithoutRedis(t *testing.T) {
	harnesses(t, func(c *Config) { c.Refuse = true }, func(s *harness) {
		team := limittest.Team(s, "quotas: {tokens: {day: 100}}")
		s.must("a", team, limit.Amounts{limit.Tokens: 10})
		for n, mode := range []int32{deaf, silent, away} {
			s.fault.mode.Store(mode)
			if v, err := s.ask(id(n), team, limit.Amounts{limit.Tokens: 10}); err == nil || v.Held != nil {
				t.Errorf("admitted without Redis: %+v", v)
			}
		}
		s.back()
		if st := s.look(team); st.Held[2*limit.Tokens] != 10 || st.Used[2*limit.Tokens] != 0 {
			t.Errorf("a refused request is held: %+v", st)
		}
	})
}

// Open tasks still count without Redis, and Redis knows them afterwards.
func TestTasksWithoutRedis(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team := limittest.Team(s, "open_tasks: 150") // an allowance is 2
		task := func(id string) (limit.Verdict, error) {
			h := hold(id, team, limit.Amounts{limit.Requests: 1, limit.Images: 1})
			h.Task, h.Lease = true, time.Hour
			return s.Failover.Admit(s.Context(), &h)
		}
		var held []*limit.Held
		for n := range 4 {
			if n == 1 {
				s.back()
				s.fault.mode.Store(away)
			}
			v, err := task(id(n))
			if (err != nil) != (n == 3) || err == nil && v.Held == nil {
				t.Fatalf("task %d: %+v, %v", n, v, err)
			}
			held = append(held, v.Held)
		}
		_ = s.Extend(s.Context(), held[1], 25*time.Hour)
		s.back()
		if st := s.look(team); st.Tasks != 3 {
			t.Errorf("%d open tasks in Redis, want 3", st.Tasks)
		}
		s.clock.Move(2 * time.Hour)
		for range 2 {
			if _, err := s.Store.Sweep(s.Context(), "search", 10); err != nil {
				t.Fatal(err)
			}
		}
		if st := s.look(team); st.Tasks != 1 || st.Used[2*limit.Images] != 2 {
			t.Errorf("the extended lease was lost: %+v", st)
		}
	})
}

// A hold whose lease ends while Redis is away is charged once, and the true use corrects that.
func TestLeaseEndsWithoutRedis(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team := limittest.Team(s)
		s.must("seen", team, limit.Amounts{})
		s.fault.mode.Store(away)
		h := s.must("a", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 5})
		s.clock.Move(2 * time.Hour)
		s.back()
		s.charge(h, team, limit.Amounts{limit.Requests: 1, limit.Tokens: 3})
		s.settled()
		if st := s.look(team); st.Used[2*limit.Tokens] != 3 || st.Used[0] != 1 {
			t.Errorf("%+v", st)
		}
	})
}

// Redis loses its memory, and this process's data of its teams is restored before the first request.
func TestMemoryLostIsRestored(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team := limittest.Team(s, "quotas: {tokens: {month: 100}}")
		s.charge(s.must("a", team, limit.Amounts{limit.Tokens: 60}), team, limit.Amounts{limit.Tokens: 60})
		s.settled()
		s.must("look", team, limit.Amounts{})
		if err := s.Maintain(s.Context()); err != nil {
			t.Fatal(err)
		}
		s.client.FlushDB(s.Context())
		if err := s.Maintain(s.Context()); err == nil || !strings.Contains(err.Error(), "lost its memory") {
			t.Errorf("not noticed: %v", err)
		}
		if err := s.Maintain(s.Context()); err != nil {
			t.Errorf("noticed twice: %v", err)
		}
		if st := s.look(team); st.Used[2*limit.Tokens+1] != 60 {
			t.Errorf("%+v", st)
		}
		if names, err := s.client.SMembers(s.Context(), "sl1:teams").Result(); err != nil || len(names) != 1 {
			t.Errorf("the list of teams is %v, %v", names, err)
		}
	})
}

// One team's key has a wrong type. That team goes on without Redis; the others are not affected.
func TestCorruptedKey(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		sick := limittest.Team(s, "rates: {requests: {per: 1m, limit: 10}}")
		healthy := &teams.Team{ID: "other"}
		s.must("a", sick, limit.Amounts{limit.Requests: 1})
		s.client.Del(s.Context(), "sl1:{search}:quota")
		s.client.Set(s.Context(), "sl1:{search}:quota", "x", 0)
		for n := range 9 {
			s.must(id(n), sick, limit.Amounts{limit.Requests: 1})
		}
		if v, err := s.ask("more", sick, limit.Amounts{limit.Requests: 1}); err != nil || v.Reason != limit.ReasonRate {
			t.Errorf("%+v, %v", v, err)
		}
		s.must("b", healthy, limit.Amounts{limit.Requests: 1})
		if s.teams.Get("other").spending() || !s.teams.Get("search").spending() {
			t.Error("the wrong team is without Redis")
		}
		s.client.Del(s.Context(), "sl1:{search}:quota")
		s.back()
	})
}

// Sixty-four callers while Redis comes and goes: every admitted request is charged once.
func TestEveryChargeArrives(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team := limittest.Team(s, "quotas: {tokens: {month: 100000000}}")
		s.must("seen", team, limit.Amounts{})
		stop := make(chan struct{})
		var flapping, calling sync.WaitGroup
		flapping.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				s.fault.mode.Store([]int32{well, deaf, well, silent, well, away}[n%6])
				_ = s.Maintain(context.Background())
			}
		})
		var want atomic.Int64
		for caller := range 64 {
			calling.Go(func() {
				for n := range 50 {
					v, err := s.ask(id(caller*1000+n), team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10})
					if err != nil || v.Held == nil {
						continue
					}
					s.charge(v.Held, team, limit.Amounts{limit.Requests: 1, limit.Tokens: int64(n)})
					want.Add(int64(n))
				}
			})
		}
		calling.Wait()
		close(stop)
		flapping.Wait()
		s.settled()
		s.back()
		s.settled()
		if st := s.look(team); st.Used[2*limit.Tokens+1] != want.Load() || st.Held != [limit.QuotaCount]int64{} {
			t.Errorf("%d used, %d charged; %v held", st.Used[2*limit.Tokens+1], want.Load(), st.Held)
		}
		if s.queue.waiting() > 0 {
			t.Errorf("%d settlements wait", s.queue.waiting())
		}
	})
}

// A request admitted without Redis belongs to Redis's day, as far as that is known, whatever this process's clock says.
func TestASkewedReplicaBooksTheRightDay(t *testing.T) {
	for _, skew := range []time.Duration{-30 * time.Hour, 30 * time.Hour} {
		harnesses(t, nil, func(s *harness) {
			clock := s.clock
			skewed := New(Config{Store: s.Store, Timeout: time.Minute, Replicas: 1, Now: func() time.Time { return clock.Now().Add(skew) }})
			s = &harness{T: s.T, client: s.client, clock: clock, fault: s.fault, Failover: skewed}
			defer func() { _ = skewed.Close(s.Context()) }()
			team, one := limittest.Team(s, "quotas: {images: {day: 200}}"), limit.Amounts{limit.Requests: 1, limit.Images: 1}
			s.must("seen", team, limit.Amounts{})
			s.back() // it has an allowance from now on
			s.fault.mode.Store(away)
			s.charge(s.must("a", team, one), team, one)
			open := s.must("b", team, one)
			v, err := s.ask("c", team, limit.Amounts{limit.Images: 199})
			if err != nil || v.Reason != limit.ReasonQuota || v.Wait != 5*time.Second {
				s.Errorf("the day has 198 left, and yet %+v, %v", v, err)
			}
			if v, err := s.ask("d", team, limit.Amounts{limit.Images: 200}); err != nil || v.Wait != 12*time.Hour {
				s.Errorf("it is noon, and the day's reset is in %v, %v", v.Wait, err)
			}
			s.back()
			s.charge(open, team, one)
			s.settled()
			rows, err := s.Rows(s.Context(), limit.Query{Teams: []string{"search"}, Days: []int{20261120, 20261121, 20261122, 20261123}})
			if err != nil || len(rows) != 1 || rows[0].Day != 20261121 || rows[0].Used != (limit.Amounts{limit.Requests: 2, limit.Images: 2}) {
				s.Errorf("the ledger has %+v, %v", rows, err)
			}
		})
	}
}

// before is called before each call of Redis.
type before func(ctx context.Context, cmds ...redis.Cmder)

func (f before) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f before) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		f(ctx, cmd)
		return next(ctx, cmd)
	}
}

func (f before) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		f(ctx, cmds...)
		return next(ctx, cmds)
	}
}

// A caller without time left makes no call: its admission is no sign of an outage.
func TestNoTimeLeft(t *testing.T) {
	for name, refuse := range map[string]bool{"local": false, "refuse": true} {
		t.Run(name, func(t *testing.T) {
			s := newHarness(t, limittest.RealRedis(t), func(c *Config) { c.Refuse = refuse })
			team := limittest.Team(t, "quotas: {tokens: {day: 100}}")
			s.must("seen", team, limit.Amounts{limit.Tokens: 1})
			s.back() // it has an allowance from now on
			var asked atomic.Int64
			s.client.AddHook(before(func(context.Context, ...redis.Cmder) { asked.Add(1) }))
			s.Timeout = 0
			v, err := s.ask("late", team, limit.Amounts{limit.Tokens: 1})
			switch {
			case asked.Load() > 0:
				t.Error("Redis was called")
			case refuse && !errors.Is(err, limit.ErrAway):
				t.Errorf("%+v, %v", v, err)
			case !refuse && (err != nil || v.Held == nil || !v.Held.Local):
				t.Errorf("%+v, %v", v, err)
			}
			if s.away.Load() != nil || s.queue.waiting() > 0 {
				t.Error("taken for a call that failed")
			}
		})
	}
}
