package failover

import (
	"context"
	"encoding"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// An allowance does not shrink while Redis is away, even if the team is idle for a while.
func TestAnIdleMinuteWithoutRedis(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		r := w.replicas[0]
		ask := func() bool {
			a := w.admit(r, kinds["a text"])
			if a.verdict.Held != nil {
				w.charge(r, &request{kind: kinds["a text"], held: a.verdict.Held, by: r}, kinds["a text"].amounts, false)
			}
			return a.verdict.Held != nil
		}
		for range 5 {
			ask()
		}
		w.tick(11)
		r.wire.set(isAway, 0)
		if !ask() {
			t.Fatal("there is no allowance")
		}
		w.tick(90)
		if !ask() {
			t.Error("the allowance is gone")
		}
	})
}

// A team that has nothing left is renewed no more often than others.
func TestAUsedUpTeamIsRenewedSeldom(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		r := w.replicas[0]
		ask := func() { w.admit(r, kinds["a task of 4 images"]) }
		for range 40 { // 30 may be open
			ask()
		}
		w.tick(3)
		before, _ := w.renewals("search", r)
		for range 60 {
			ask()
			w.tick(1)
		}
		if after, _ := w.renewals("search", r); after-before > 7 {
			t.Errorf("%d renewals in a minute, want at most 7", after-before)
		}
	})
}

// renewals reads the number of a replica's last renewal of a team.
func (w *world) renewals(team string, r *replica) (call int64, err error) {
	_, err = fmt.Sscan(w.server.HGet("sl1:{"+team+"}:aside", r.shared.Store.Peer.ID), &call)
	return call, err
}

// Holds made without Redis are posted in parts, one for each renewal; the rest stays set aside in Redis.
func TestManyRunningRequestsAreHeldInParts(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		r := w.replicas[0]
		w.house = nil // its allowance is smaller
		r.teams = readEdition("teams:\n  - id: search\n    quotas: {requests: {day: 1000000}}\n  - id: shop\n    quotas: {requests: {day: " +
			"1000000}}\n")
		w.admit(r, kinds["a text"])
		w.tick(11)
		r.wire.set(isAway, 0)
		const requests = 2*renewBatch + 7
		for range requests {
			if a := w.admit(r, kinds["a text"]); a.verdict.Held == nil {
				t.Fatal(a.err)
			}
		}
		r.wire.set(works, 0)
		if err := r.shared.beat(context.Background()); err != nil {
			t.Fatal(err)
		}
		b := r.shared.teams.Get("shop")
		_ = r.shared.renewer.renew(context.Background(), []*renewal{r.shared.renewer.renewal("shop", b, time.Now())})
		w.heldAddsUp()
		spendable := b.allowances.on(20000115).left[limit.Requests]
		if aside, rest := w.count("shop", "20000115:requests:aside"),
			int64(len(b.running)); rest != requests-renewBatch || aside < spendable+rest {
			t.Errorf("%d requests are set aside for %d that may be spent and %d that run", aside, spendable, rest)
		}
		r.wire.set(neverComes, 1) // the second renewal is executed
		if err := r.shared.renewer.all(context.Background()); err == nil {
			t.Error("its reply came")
		}
		w.heldAddsUp()
		r.wire.set(works, 0)
		time.Sleep(2 * time.Second)
		w.maintain(r)
		if held := w.count("shop", "20000115:requests:held"); held != requests+1 {
			t.Errorf("%d requests are held, want %d", held, requests+1)
		}
		if r.shared.Degraded() {
			t.Error(r.shared.State())
		}
	})
}

// A replica was away for longer than its allowance may be spent, and other replicas have spent what was set aside for it. What it still
// has is not set aside again: its team would pass the quota.
func TestAnAllowanceThatEndedIsNotSetAsideAgain(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		team, other := limittest.Team(s, "quotas: {images: {day: 1000}}"), storeAt(s.client, s.clock)
		other.Peer = redisstore.Peer{ID: "other", Gap: func() (int64, int64) { return 0, 0 }}
		s.must("first", team, limit.Amounts{limit.Images: 1})
		s.back()
		aside := func() string { return s.client.HGet(s.Context(), "sl1:{search}:quota", "20261121:images:aside").Val() }
		if aside() != "19" {
			t.Fatalf("%s images are set aside, want a fiftieth", aside())
		}
		for range 2 { // its lease ends; an hour later what was set aside is released
			s.clock.Move(65 * time.Minute)
			if _, err := other.Sweep(s.Context(), "search", 100); err != nil {
				t.Fatal(err)
			}
		}
		if v, err := s.elsewhere(&limit.Hold{ID: "all", Team: team, Amounts: limit.Amounts{limit.Images: 999}, Lease: time.Hour}); v.Held == nil {
			t.Fatalf("%+v %v", v, err)
		}
		s.fault.mode.Store(away)
		if v, err := s.ask("late", team, limit.Amounts{limit.Images: 1}); err == nil {
			t.Errorf("it spends what it has no more: %+v", v)
		}
		s.back()
		if n := aside(); n != "0" {
			t.Errorf("%s images are set aside of a quota that is used up", n)
		}
	})
}

// Towards midnight the next day gets an allowance, too; both count for the month.
func TestAllowancesOfTheNextDay(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		s.clock.Move(11*time.Hour + 55*time.Minute)
		s.must("a", limittest.Team(s, "quotas: {images: {day: 1000, month: 100000}}"), limit.Amounts{limit.Images: 1})
		s.back()
		counts := s.client.HGetAll(s.Context(), "sl1:{search}:quota").Val()
		if counts["20261121:images:aside"] != "19" || counts["20261122:images:aside"] != "20" || counts["202611:images:aside"] != "39" {
			t.Errorf("set aside are %v", counts)
		}
		s.clock.Move(10 * time.Minute)
		s.must("b", s.teams.Get("search").team, limit.Amounts{limit.Images: 1})
		s.back()
		counts = s.client.HGetAll(s.Context(), "sl1:{search}:quota").Val()
		if counts["202611:images:aside"] != "19" || counts["20261122:images:aside"] != "19" {
			t.Errorf("set aside after midnight are %v", counts)
		}
	})
}

// At the end of a month the next day's allowance is a part of the next month's quotas, of which nothing is used, without the raises of this
// month.
func TestAllowancesOfTheNextMonth(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		s.clock.Move(9*24*time.Hour + 11*time.Hour + 55*time.Minute)
		team := *limittest.Team(s, "quotas: {images: {day: 1000, month: 1500}}")
		team.Base = []teams.Quota{{Unit: unit.NameImages, Period: teams.PeriodDay, Limit: 1000},
			{Unit: unit.NameImages, Period: teams.PeriodMonth, Limit: 900}}
		s.must("a", &team, limit.Amounts{limit.Images: 700})
		s.back()
		counts, got := s.client.HGetAll(s.Context(), "sl1:{search}:quota").Val(), ""
		for _, period := range []string{"20261130", "202611", "20261201", "202612"} {
			got += counts[period+":images:aside"] + " "
		}
		if got != "30 30 90 90 " {
			t.Errorf("set aside of today, its month, tomorrow and its month are %s, want 30 30 90 90", got)
		}
	})
}

// isRenewal reports whether a call renews allowances: only such a call reports what was taken from the rates.
func isRenewal(cmd redis.Cmder) bool {
	args := cmd.Args()
	named, ok := args[len(args)-1].(encoding.BinaryMarshaler)
	if !ok {
		return false
	}
	text, err := named.MarshalBinary()
	return err == nil && strings.Contains(string(text), `"rated":[`)
}

// onScript counts renewals.
type onScript struct{ runs int }

func (c *onScript) DialHook(next redis.DialHook) redis.DialHook { return next }
func (c *onScript) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.count(cmd)
		return next(ctx, cmd)
	}
}
func (c *onScript) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.count(cmds...)
		return next(ctx, cmds)
	}
}

func (c *onScript) count(cmds ...redis.Cmder) {
	for _, cmd := range cmds {
		if isRenewal(cmd) {
			c.runs++
		}
	}
}

// A team is renewed until a minute after its last request, and no longer.
func TestAnIdleTeamIsNotRenewed(t *testing.T) {
	client := limittest.RealRedis(t)
	s := newHarness(t, client, nil)
	renewals := &onScript{}
	client.AddHook(renewals)
	s.must("a", limittest.Team(t, "quotas: {images: {day: 100}}"), limit.Amounts{limit.Requests: 1})
	maintain := func(after time.Duration) int {
		s.clock.Move(after)
		before := renewals.runs
		if err := s.Maintain(t.Context()); err != nil {
			t.Error(err)
		}
		return renewals.runs - before
	}
	if n := maintain(50 * time.Second); n == 0 {
		t.Error("after 50 seconds it is not renewed")
	}
	if n := maintain(11 * time.Second); n != 1 {
		t.Errorf("after more than a minute its allowance is given back %d times", n)
	}
	if aside := client.HLen(t.Context(), "sl1:{search}:aside").Val(); aside != 1 { // the number of the call
		t.Errorf("%d fields are left of what was set aside", aside)
	}
	for range 3 {
		if n := maintain(11 * time.Second); n != 0 {
			t.Errorf("later it is renewed %d times", n)
		}
	}
}

// A raise counts only in the running period: what is set aside of the next one is a part of the quota without it.
func TestARaiseIsNotOfTheNextDay(t *testing.T) {
	harnesses(t, nil, func(s *harness) {
		s.clock.Move(11*time.Hour + 55*time.Minute)
		team := *limittest.Team(s, "quotas: {images: {day: 10000, month: 100000}}")
		team.Base = []teams.Quota{{Unit: unit.NameImages, Period: teams.PeriodDay, Limit: 1000},
			{Unit: unit.NameImages, Period: teams.PeriodMonth, Limit: 2000}}
		s.must("a", &team, limit.Amounts{limit.Images: 1})
		s.back()
		counts := s.client.HGetAll(s.Context(), "sl1:{search}:quota").Val()
		if counts["20261121:images:aside"] != "199" || counts["20261122:images:aside"] != "20" || counts["202611:images:aside"] != "219" {
			t.Errorf("set aside are %v", counts)
		}
	})
}

// Of a later day in the month the raise of the month counts, of the next month none.
func TestTermsOfALaterDay(t *testing.T) {
	team := teams.Team{
		Quotas: []teams.Quota{{Unit: unit.NameImages, Period: teams.PeriodDay, Limit: 10},
			{Unit: unit.NameImages, Period: teams.PeriodMonth, Limit: 20}},
		Base: []teams.Quota{{Unit: unit.NameImages, Period: teams.PeriodDay, Limit: 1},
			{Unit: unit.NameImages, Period: teams.PeriodMonth, Limit: 2}},
	}
	now := limit.CalendarOf(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
	for day, want := range map[int][2]int64{21: {10, 20}, 22: {1, 20}, 31: {1, 2}} {
		on := limit.CalendarOf(time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC))
		terms := limit.TermsOn(&team, &now, &on)
		if got := [2]int64(terms.Quotas[2*limit.Images : 2*limit.Images+2]); got != want {
			t.Errorf("on day %d the quotas are %v, want %v", day, got, want)
		}
	}
}
