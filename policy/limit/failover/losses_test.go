package failover

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Ways in which charges and holds were once lost or doubled.

// A task that was admitted without Redis before midnight stays its team's, and counts for its day.
func TestHeldWithoutRedisOverMidnight(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	s.clock.Move(11*time.Hour + 59*time.Minute + 50*time.Second)
	team := limittest.Team(t, "open_tasks: 100")
	s.must("seen", team, limit.Amounts{})
	s.back() // it has an allowance from now on
	s.fault.mode.Store(away)
	h := hold("task", team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
	h.Task, h.Lease = true, 25*time.Hour
	v, err := s.Failover.Admit(s.Context(), &h)
	if err != nil || v.Held == nil {
		t.Fatal(v, err)
	}
	s.clock.Move(20 * time.Second)
	s.back()
	if st := s.look(team); st.Tasks != 1 {
		t.Errorf("%d open tasks, want 1", st.Tasks)
	}
	s.clock.Move(26 * time.Hour)
	_ = s.Maintain(s.Context())
	_, _ = s.Store.Sweep(s.Context(), "search", 100)
	rows, _ := s.Rows(s.Context(), limit.Query{Teams: []string{"search"}, Days: []int{20261121, 20261122, 20261123}})
	images := int64(0)
	for _, r := range rows {
		images += r.Used[limit.Images]
	}
	if images != 4 {
		t.Errorf("%d images charged after the lease ended, want 4", images)
	}
}

// After an outage without admissions, the last known state keeps its true age.
func TestAnotherOutageKnowsLess(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	team := limittest.Team(t, "quotas: {images: {day: 100}}")
	one := limit.Amounts{limit.Requests: 1, limit.Images: 1}
	s.fault.mode.Store(away)
	if _, err := s.ask("x", team, one); err == nil {
		t.Fatal("unknown")
	}
	s.fault.mode.Store(well)
	_ = s.Maintain(s.Context())
	s.charge(s.must("a", team, one), team, one)
	s.settled()
	// idle for two hours: other replicas use up the quota
	for range 7200 / 60 {
		s.clock.Move(time.Minute)
		_ = s.Maintain(s.Context())
	}
	h := hold("elsewhere", team, limit.Amounts{limit.Images: 99})
	h.Lease = time.Hour
	if v, err := s.elsewhere(&h); err != nil || v.Held == nil {
		t.Fatal(v, err)
	}
	s.clock.Move(time.Hour - time.Minute)
	s.fault.mode.Store(away)
	if v, err := s.ask("b", team, limit.Amounts{limit.Requests: 1, limit.Images: 4}); err == nil {
		t.Errorf("the state is 3 hours old and yet admitted=%v %+v", v.Held != nil, v)
	}
}

// The same holds if the first outage refused everything, and the team made no requests since.
func TestAnotherOutageAfterARefusal(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	team := limittest.Team(t, "rates: {requests: {per: 1h, limit: 1}}", "quotas: {images: {day: 100}}")
	one := limit.Amounts{limit.Requests: 1}
	s.must("a", team, one)
	s.fault.mode.Store(away)
	if v, err := s.ask("b", team, one); err != nil || v.Reason != limit.ReasonRate {
		t.Fatal(v, err)
	}
	s.clock.Move(11 * time.Minute)
	s.back()
	s.clock.Move(2 * time.Hour)
	s.fault.mode.Store(away)
	if v, err := s.ask("c", team, limit.Amounts{limit.Requests: 1, limit.Images: 50}); err == nil {
		t.Errorf("the state is two hours old, and yet %+v, %v", v, err)
	}
}

// A team with many open holds comes back to Redis while requests keep coming.
func TestABusyTeamComesBack(t *testing.T) {
	client := limittest.RealRedis(t)
	s := newHarness(t, client, func(c *Config) { c.Timeout = 300 * time.Millisecond })
	client.AddHook(slow{90 * time.Millisecond}) // a round trip within half of a call's time, not two
	team := limittest.Team(t)
	s.must("seen", team, limit.Amounts{})
	s.fault.mode.Store(away)
	for n := range 200 {
		h := hold(fmt.Sprint("task", n), team, limit.Amounts{limit.Requests: 1, limit.Images: 1})
		h.Task, h.Lease = true, 25*time.Hour
		if v, err := s.Failover.Admit(s.Context(), &h); err != nil || v.Held == nil {
			t.Fatal(v, err)
		}
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	var n atomic.Int64
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			v, err := s.ask(fmt.Sprint("r", n.Add(1)), team, limit.Amounts{limit.Requests: 1})
			if err == nil && v.Held != nil {
				s.charge(v.Held, team, limit.Amounts{limit.Requests: 1})
			}
		}
	}()
	s.fault.mode.Store(well)
	back := 0
	for range 10 {
		_ = s.Maintain(context.Background())
		if !s.teams.Get("search").spending() {
			back++
			break
		}
	}
	close(stop)
	<-done
	if back == 0 {
		t.Errorf("Redis is well, and the team was not admitted by it in 10 rounds")
	}
}

// The lease of a hold ends while Redis may not know it; the true use corrects the charge.
func TestTheTruthCorrectsADoubtfulTask(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	team := limittest.Team(t)
	s.must("seen", team, limit.Amounts{})
	s.fault.mode.Store(silent)
	h := hold("task", team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
	h.Task, h.Lease = true, 11*time.Minute
	v, err := s.Failover.Admit(s.Context(), &h)
	if err != nil || v.Held == nil {
		t.Fatal(v, err)
	}
	s.fault.mode.Store(away)
	_ = s.Extend(s.Context(), v.Held, 25*time.Hour) // the task was created
	s.clock.Move(12 * time.Minute)
	_, _ = s.Settle(s.Context(), &limit.Charge{Held: v.Held, Team: team, Amounts: limit.Amounts{limit.Requests: 1}}) // it FAILED: no image
	s.back()
	if st := s.look(team); st.Used[2*limit.Images] != 0 {
		t.Errorf("%d images charged for a task that failed", st.Used[2*limit.Images])
	}
}

// A task is created and ends without Redis, and another replica learns of its end, too, before or after the charge arrives: it
// counts once.
func TestATaskThatEndedWithoutRedisIsChargedOnce(t *testing.T) {
	for _, first := range []string{"the other", "its own"} {
		harnesses(t, nil, func(s *harness) {
			team := limittest.Team(s)
			s.must("seen", team, limit.Amounts{})
			s.fault.mode.Store(away)
			h := hold("task", team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
			h.Task, h.Lease = true, 25*time.Hour
			v, err := s.Failover.Admit(s.Context(), &h)
			if err != nil || v.Held == nil {
				s.Fatal(v, err)
			}
			end := limit.Charge{Held: &limit.Held{ID: "task", Team: team.ID, Task: true, Amounts: h.Amounts, Day: v.Held.Day, Month: v.Held.Month},
				Team: team, Amounts: limit.Amounts{limit.Requests: 1, limit.Images: 3}}
			told := 0
			mine := end
			mine.Taken = func(bool) { told++ }
			if done, err := s.Settle(s.Context(), &mine); done || err == nil {
				s.Errorf("it is settled without Redis: %v, %v", done, err)
			}
			if done, err := s.Settle(s.Context(), &end); done {
				s.Errorf("it is settled again: %v, %v", done, err)
			}
			other := func() {
				s.fault.mode.Store(well)
				if _, err := s.Store.Settle(s.Context(), &end); err != nil {
					s.Error(err)
				}
			}
			if first == "the other" {
				other()
			}
			s.back()
			other()
			if st := s.look(team); st.Used[2*limit.Images] != 3 || st.Used[2*limit.Requests] != 1 || st.Tasks != 0 || told != 1 {
				s.Errorf("%s first: %+v, want 3 images of 1 request; told %d times, want once", first, st, told)
			}
		})
	}
}

// An extended lease counts for a hold that Redis does not know yet.
func TestADoubtfulHoldIsExtended(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	team := limittest.Team(t, "open_tasks: 100")
	s.must("seen", team, limit.Amounts{})
	s.back() // it has an allowance from now on
	s.fault.mode.Store(silent)
	h := hold("task", team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
	h.Task, h.Lease = true, 11*time.Minute
	v, err := s.Failover.Admit(s.Context(), &h)
	if err != nil || v.Held == nil {
		t.Fatal(v, err)
	}
	s.fault.mode.Store(well)
	_ = s.Extend(s.Context(), v.Held, 25*time.Hour)
	s.settled()
	s.back()
	s.clock.Move(12 * time.Minute)
	_, _ = s.Store.Sweep(s.Context(), "search", 10)
	if st := s.look(team); st.Tasks != 1 {
		t.Errorf("%d open tasks, want 1; %d images used", st.Tasks, st.Used[2*limit.Images])
	}
}

// A refusal by the account stays one if the reply to the release is lost.
func TestReleaseReplyLost(t *testing.T) {
	client := limittest.RealRedis(t)
	s := newHarness(t, client, nil)
	lose := &nth{}
	client.AddHook(lose)
	team := limittest.Team(t)
	s.must("seen", team, limit.Amounts{})
	acc := limit.OutsideFor(&teams.File{Account: []teams.AccountLimit{
		{Rates: []teams.Rate{{Unit: unit.NameRequests, Limit: 1, Burst: 1, Per: time.Minute, PerText: "1m"}}}}}, "")
	// another replica uses the account's rate
	for range 2 { // also loads the scripts
		oh := hold("elsewhere", &teams.Team{ID: "other"}, limit.Amounts{limit.Requests: 1})
		oh.Outside, oh.Lease = acc, time.Hour
		_, _ = s.elsewhere(&oh)
		oh.ID = "e2"
	}
	s.charge(s.must("warm", team, limit.Amounts{limit.Tokens: 1}), team, limit.Amounts{limit.Tokens: 1})
	s.settled()
	h := hold("a", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10})
	h.Outside, h.Lease = acc, time.Hour
	lose.at = 3
	if v, err := s.Failover.Admit(s.Context(), &h); err != nil || v.Reason != limit.ReasonAccount || v.Held != nil {
		t.Errorf("not refused: %+v, %v", v, err)
	}
	s.back()
	if st := s.look(team); st.Used[2*limit.Tokens] != 1 || st.Held[2*limit.Tokens] != 0 {
		t.Errorf("%d tokens used, %d held; want 1, 0", st.Used[2*limit.Tokens], st.Held[2*limit.Tokens])
	}
}

// A team that stayed within its rate is not refused after an outage.
func TestNoLockoutAfterAnOutage(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	team := limittest.Team(t, "rates: {requests: {per: 1h, limit: 60}}")
	one := limit.Amounts{limit.Requests: 1}
	s.must("seen", team, limit.Amounts{})
	s.fault.mode.Store(away)
	for n := range 120 { // four hours at half of the rate
		s.clock.Move(2 * time.Minute)
		s.charge(s.must(id(n), team, one), team, one)
	}
	s.back()
	s.clock.Move(2 * time.Minute)
	v, err := s.ask("next", team, one)
	if err != nil || v.Held == nil {
		t.Errorf("half of the rate was used, and yet: %v wait %v, %v", v.Reason, v.Wait, err)
	}
}

// A settlement that fails midway has changed nothing.
func TestAFailedSettlementIsWhole(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	team := limittest.Team(t, "rates: {tokens: {per: 1m, limit: 1000}}")
	a := s.must("a", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10})
	b := s.must("b", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10})
	ctx := s.Context()
	s.client.Set(ctx, "sl1:{search}:rate:tokens", "x", 0)
	if err := s.queue.do(ctx, []job{{charge: &limit.Charge{Held: a, Team: team, Amounts: limit.Amounts{limit.Requests: 1, limit.Tokens: 10}}},
		{charge: &limit.Charge{Held: b, Team: team, Amounts: limit.Amounts{limit.Requests: 1, limit.Tokens: 5}}}}); len(err) == 0 {
		t.Error("settled over a key of another type")
	}
	s.client.Del(ctx, "sl1:{search}:rate:tokens")
	s.back()
	s.settled()
	if st := s.look(team); st.Used[2*limit.Tokens] != 15 || st.Held[2*limit.Tokens] != 0 {
		t.Errorf("%d used, %d held; want 15, 0", st.Used[2*limit.Tokens], st.Held[2*limit.Tokens])
	}
	s.clock.Move(48 * time.Hour)
	_, _ = s.Store.Sweep(ctx, "search", 100)
}

// The same holds if the ledger has the wrong type.
func TestAFailedLedgerIsWhole(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	team := limittest.Team(t)
	a := s.must("a", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10})
	ctx := s.Context()
	s.client.Set(ctx, "sl1:{search}:use:20261121", "x", 0)
	if _, err := s.Settle(ctx, &limit.Charge{Held: a, Team: team, Amounts: limit.Amounts{limit.Requests: 1, limit.Tokens: 10}}); err == nil {
		t.Error("settled over a ledger of another type")
	}
	s.client.Del(ctx, "sl1:{search}:use:20261121")
	s.back()
	if st := s.look(team); st.Used[2*limit.Tokens] != 10 || st.Held[2*limit.Tokens] != 0 {
		t.Errorf("%d used, %d held; want 10, 0", st.Used[2*limit.Tokens], st.Held[2*limit.Tokens])
	}
}

// A lease can be extended while its team's data is restored to Redis.
func TestExtendedWhileItJoins(t *testing.T) {
	client := limittest.RealRedis(t)
	s := newHarness(t, client, nil)
	hook := &onPost{}
	client.AddHook(hook)
	team := limittest.Team(t, "open_tasks: 100")
	s.must("seen", team, limit.Amounts{})
	s.back() // it has an allowance from now on
	s.fault.mode.Store(away)
	one := limit.Amounts{limit.Requests: 1}
	s.charge(s.must("x", team, one), team, one) // something to post
	h := hold("task", team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
	h.Task, h.Lease = true, 11*time.Minute
	v, err := s.Failover.Admit(s.Context(), &h)
	if err != nil || v.Held == nil {
		t.Fatal(v, err)
	}
	hook.do = func() { _ = s.Extend(s.Context(), v.Held, 25*time.Hour) }
	s.back()
	s.settled()
	s.clock.Move(12 * time.Minute)
	_, _ = s.Store.Sweep(s.Context(), "search", 10)
	if st := s.look(team); st.Tasks != 1 {
		t.Errorf("%d open tasks, want 1; %d images used", st.Tasks, st.Used[2*limit.Images])
	}
}

// A replica that was cut off for longer than Redis remembers a hold charges nothing that another has charged meanwhile.
func TestCutOffForDays(t *testing.T) {
	server, client := limittest.AgedRedis(t)
	s := newHarness(t, client, nil)
	team := limittest.Team(t, "quotas: {tokens: {month: 1000}}")
	at := s.clock.Now().UnixMilli()
	name := fmt.Sprintf("%08x-%04x-7000-8000-000000000000", at>>16, at&0xffff)
	h := s.must(name, team, limit.Amounts{limit.Requests: 1, limit.Tokens: 100})
	s.fault.mode.Store(away)
	s.charge(h, team, limit.Amounts{limit.Requests: 1, limit.Tokens: 60})
	s.settled()
	beside := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, MaxRetries: -1, DisableIdentity: true})
	other := storeAt(beside, s.clock)
	defer func() { _ = beside.Close() }()
	for range 52 { // until the hold that another charged is forgotten
		s.clock.Move(time.Hour)
		server.FastForward(time.Hour)
		_, _ = other.Sweep(s.Context(), "search", 100)
	}
	s.back()
	s.settled()
	if st := s.look(team); st.Used[2*limit.Tokens+1] != 100 || st.Held[2*limit.Tokens+1] != 0 {
		t.Errorf("%d tokens charged, %d held; want 100, as estimated, and 0", st.Used[2*limit.Tokens+1], st.Held[2*limit.Tokens+1])
	}
}

// A settlement whose reply was lost is not charged again once Redis has forgotten it.
func TestReplyLostForLong(t *testing.T) {
	server, client := limittest.AgedRedis(t)
	s := newHarness(t, client, nil)
	team := limittest.Team(t, "quotas: {tokens: {day: 1000}}")
	warm := s.must("w", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10})
	s.charge(warm, team, limit.Amounts{})
	s.settled()
	h := s.must("a", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10})
	s.fault.mode.Store(deaf)
	s.charge(h, team, limit.Amounts{limit.Requests: 1, limit.Tokens: 7})
	s.settled()
	s.fault.mode.Store(away)
	s.clock.Move(16 * time.Minute)
	server.FastForward(16 * time.Minute)
	s.back()
	if st := s.look(team); st.Used[2*limit.Tokens] != 7 {
		t.Errorf("%d tokens charged, want 7", st.Used[2*limit.Tokens])
	}
}

// No settlement is held by a goroutine that waits for another one.
func TestSettlersShareTheQueue(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	team := limittest.Team(t)
	var n atomic.Int64
	for round := range 200 {
		var held []*limit.Held
		for range 2 + round%3 {
			held = append(held, s.must(id(int(n.Add(1))), team, limit.Amounts{limit.Requests: 1}))
		}
		for _, h := range held {
			s.charge(h, team, limit.Amounts{limit.Requests: 1})
		}
		deadline := time.Now().Add(time.Minute)
		for {
			st := s.look(team)
			if st.Held[0] == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("round %d: %d holds are not settled after a minute; %d said to wait", round, st.Held[0], s.queue.waiting())
			}
			time.Sleep(200 * time.Microsecond)
		}
	}
}

// Use that could not be written to a ledger is written later.
func TestARepairedLedgerHasAll(t *testing.T) {
	s := newHarness(t, limittest.RealRedis(t), nil)
	team := limittest.Team(t)
	ctx := s.Context()
	s.must("a", team, limit.Amounts{})
	ledger := "sl1:{search}:use:20261121"
	s.client.Set(ctx, ledger, "x", 0) // of another type, F-R12
	for n := range 10 {
		h := s.must("g"+id(n), team, limit.Amounts{limit.Requests: 1})
		s.charge(h, team, limit.Amounts{limit.Requests: 1})
		s.settled()
		s.clock.Move(time.Second)
		_ = s.Maintain(ctx)
	}
	s.client.Del(ctx, ledger) // the operator repairs it
	s.back()
	s.settled()
	st := s.look(team)
	if st.Used[0] != 10 || st.Held[0] != 0 {
		t.Errorf("used %d, held %d, want 10, 0", st.Used[0], st.Held[0])
	}
}

// slow is a Redis with slow replies, except to a connection's first commands.
type slow struct{ d time.Duration }

func (f slow) DialHook(next redis.DialHook) redis.DialHook { return next }
func (f slow) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := f.wait(ctx, cmd); err != nil {
			return err
		}
		return next(ctx, cmd)
	}
}
func (f slow) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := f.wait(ctx, cmds...); err != nil {
			return err
		}
		return next(ctx, cmds)
	}
}

func (f slow) wait(ctx context.Context, cmds ...redis.Cmder) error {
	if name := cmds[0].Name(); name == "hello" || name == "select" {
		return nil
	}
	select {
	case <-time.After(f.d):
		return nil
	case <-ctx.Done():
	}
	for _, cmd := range cmds {
		cmd.SetErr(ctx.Err())
	}
	return ctx.Err()
}

// nth loses the reply to one call.
type nth struct {
	n  atomic.Int64
	at int64
}

func (f *nth) DialHook(next redis.DialHook) redis.DialHook { return next }
func (f *nth) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if f.at > 0 && f.n.Add(1) == f.at {
			cmd.SetErr(errSilent)
			return errSilent
		}
		return err
	}
}
func (f *nth) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// onPost calls a function when a settlement is first sent.
type onPost struct {
	do func()
}

func (f *onPost) DialHook(next redis.DialHook) redis.DialHook { return next }
func (f *onPost) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		f.note(cmd)
		return next(ctx, cmd)
	}
}
func (f *onPost) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		f.note(cmds[0])
		return next(ctx, cmds)
	}
}

func (f *onPost) note(cmd redis.Cmder) {
	if f.do != nil && isRenewal(cmd) {
		do := f.do
		f.do = nil
		do()
	}
}
