package redisstore

import (
	"fmt"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// A bucket lets a burst through and then its rate, and reports how long to wait.
func TestBucket(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "rates: {requests: {per: 1m, limit: 60, burst: 10}}")
		one := limit.Amounts{limit.Requests: 1}
		for n := range 10 {
			if s := f.admit(hold(id(n), team, one)); s.Outcome != limit.Admitted || s.Rates[limit.Requests].Left != int64(9-n) {
				f.Fatalf("request %d: %+v", n, s)
			}
		}
		s := f.admit(hold("more", team, one))
		if s.Outcome != limit.Refused || s.Fault != limit.Requests || s.Wait != time.Second || s.Rates[limit.Requests].Full != 10*time.Second {
			f.Fatalf("the bucket is empty: %+v", s)
		}
		f.clock.Move(999 * time.Millisecond)
		if s := f.admit(hold("more", team, one)); s.Outcome != limit.Refused || s.Wait != time.Millisecond || s.Rates[limit.Requests].Left != 0 {
			f.Fatalf("a millisecond early: %+v", s)
		}
		f.clock.Move(time.Millisecond)
		if s := f.admit(hold("more", team, one)); s.Outcome != limit.Admitted {
			f.Fatalf("after the stated wait: %+v", s)
		}
	})
}

// A refusal leaves every bucket and quota as it was, whichever of them refuses.
func TestRefusalTakesNothing(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "rates: {requests: {per: 1m, limit: 10}, tokens: {per: 1m, limit: 1000}, images: {per: 1m, limit: 4}}",
			"quotas: {tokens: {day: 800}, spend: {month: 1.00}}", "open_tasks: 1")
		f.admit(hold("first", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 700, limit.Images: 1, limit.Spend: 500_000_000}))
		before := f.look(team)
		for what, h := range map[string]limit.Hold{
			"the token bucket":  hold("a", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 400}),
			"the day's tokens":  hold("b", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 200}),
			"the month's money": hold("c", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 1, limit.Spend: 500_000_001}),
			"the image bucket":  hold("d", team, limit.Amounts{limit.Requests: 1, limit.Images: 4}),
		} {
			if s := f.admit(h); s.Outcome != limit.Refused {
				f.Errorf("%s let %v pass", what, h.Amounts)
			}
			if after := f.look(team); after != before {
				f.Errorf("refused by %s, but the accounts went from\n%+v to\n%+v", what, before, after)
			}
		}
	})
}

// Of several limits that refuse, the one with the longest wait is named.
func TestTheLongestWaitIsNamed(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "rates: {requests: {per: 1m, limit: 1}, tokens: {per: 1s, limit: 10}}", "quotas: {tokens: {day: 10}}")
		held := f.held(hold("a", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10}))
		f.admit(hold("a", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10}))
		if s := f.admit(hold("b", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10})); s.Fault != limit.Requests || s.Wait != time.Minute {
			f.Errorf("only a hold stands against the quota: %+v", s)
		}
		f.settle(held, team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10}, false)
		if s := f.admit(hold("b", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 10})); s.Fault != limit.LimitQuotas+2*limit.Tokens ||
			s.Wait != 12*time.Hour {
			f.Errorf("the day's tokens are used: %+v", s)
		}
		two := &teams.Team{ID: "two", Quotas: []teams.Quota{{Unit: unit.NameTokens, Period: teams.PeriodDay, Limit: 1},
			{Unit: unit.NameImages, Period: teams.PeriodDay, Limit: 1}}}
		if s := f.admit(hold("c", two, limit.Amounts{limit.Tokens: 2, limit.Images: 2})); s.Fault != limit.LimitQuotas+2*limit.Tokens {
			f.Errorf("of two with the same wait the first is named, by both forms: %+v", s)
		}
	})
}

// Settling gives back the excess of a hold, and takes the missing part, in rates and in quotas.
func TestSettlementCorrects(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "rates: {tokens: {per: 1m, limit: 6000, burst: 100}}", "quotas: {tokens: {day: 1000000, month: 5000000}}")
		for _, tt := range []struct {
			about      string
			held, used int64
			left       int64 // in the bucket
			wait       time.Duration
		}{
			{"less than held", 80, 30, 70, 0},
			{"as held", 80, 80, 20, 0},
			{"nothing", 80, 0, 100, 0},
			{"more than held", 80, 95, 5, 0},
			{"into debt", 80, 180, -80, 810 * time.Millisecond},
			{"debt of one refill at most", 80, 100000, -100, 1010 * time.Millisecond},
		} {
			h := hold(tt.about, team, limit.Amounts{limit.Tokens: tt.held})
			held := f.held(h)
			before := f.look(team)
			if s := f.admit(h); s.Outcome != limit.Admitted {
				f.Fatalf("%s: %+v", tt.about, s)
			}
			if !f.settle(held, team, limit.Amounts{limit.Tokens: tt.used}, false) {
				f.Errorf("%s: not settled", tt.about)
			}
			after := f.look(team)
			if after.Rates[limit.Tokens].Left != tt.left {
				f.Errorf("%s: %d left in the bucket, want %d", tt.about, after.Rates[limit.Tokens].Left, tt.left)
			}
			q := 2 * limit.Tokens
			if used := after.Used[q] - before.Used[q]; used != tt.used || after.Held != before.Held {
				f.Errorf("%s: the day used %d more and holds %v", tt.about, used, after.Held)
			}
			if s := f.admit(hold("after "+tt.about, team, limit.Amounts{limit.Tokens: 1})); s.Fault == limit.Tokens && s.Wait != tt.wait ||
				s.Fault != limit.Tokens && tt.wait > 0 {
				f.Errorf("%s: the next token waits %v, want %v", tt.about, s.Wait, tt.wait)
			}
			f.clock.Move(24 * time.Hour)
		}
	})
}

// Settling twice, or again after the lease has ended, charges once: the first settlement counts, and the true use replaces
// an estimate.
func TestSettledOnce(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "quotas: {images: {day: 100}}")
		q := 2 * limit.Images
		h := hold("a", team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
		h.Task, h.Lease = true, time.Hour
		held := f.held(h)
		f.admit(h)
		if s := f.admit(h); s.Outcome != limit.Admitted || s.Held[q] != 4 || s.Tasks != 1 {
			f.Errorf("admitted twice: %+v", s)
		}
		f.clock.Move(time.Hour)
		if n := f.sweep("search"); n != 1 {
			f.Errorf("%d holds were due, want 1", n)
		}
		if s := f.look(team); s.Used[q] != 4 || s.Held[q] != 0 || s.Tasks != 0 {
			f.Errorf("after its lease: %+v", s)
		}
		if !f.settle(held, team, limit.Amounts{limit.Requests: 1, limit.Images: 3}, false) {
			f.Error("the late true use changed nothing")
		}
		if f.settle(held, team, limit.Amounts{limit.Requests: 1, limit.Images: 1}, false) {
			f.Error("settled again")
		}
		if s := f.look(team); s.Used[q] != 3 || s.Used[0] != 1 || s.Held[q] != 0 || s.Tasks != 0 {
			f.Errorf("in the end: %+v", s)
		}
	})
}

// A request is charged to the period that admitted it, whenever it is settled or its lease ends.
func TestPeriodOfAdmission(t *testing.T) {
	forms(t, func(f *form) {
		f.clock.Move(time.Date(2026, 12, 31, 23, 59, 59, 900_000_000, time.UTC).Sub(f.clock.Now()))
		team := limittest.Team(f, "quotas: {tokens: {day: 100, month: 100}}")
		a, b := hold("a", team, limit.Amounts{limit.Tokens: 60}), hold("b", team, limit.Amounts{limit.Tokens: 40})
		heldA := f.held(a)
		f.admit(a)
		f.admit(b)
		if s := f.admit(hold("c", team, limit.Amounts{limit.Tokens: 1})); s.Outcome != limit.Refused {
			f.Errorf("the year's last tokens are held: %+v", s)
		}
		f.clock.Move(200 * time.Millisecond)
		if s := f.admit(hold("c", team, limit.Amounts{limit.Tokens: 100})); s.Outcome != limit.Admitted || s.Held[2*limit.Tokens] != 100 {
			f.Errorf("a new year: %+v", s)
		}
		f.settle(heldA, team, limit.Amounts{limit.Tokens: 50}, false)
		f.clock.Move(time.Hour)
		f.sweep("search") // b, and c with the same lease a moment later
		f.clock.Move(time.Second)
		f.sweep("search")
		s := f.look(team)
		if s.Used[2*limit.Tokens] != 100 || s.Used[2*limit.Tokens+1] != 100 || s.Held != [limit.QuotaCount]int64{} {
			f.Errorf("the new year has its own requests: %+v", s)
		}
		f.clock.Move(-2 * time.Hour)
		if f.redis != nil { // memory's clock does not go back
			if s := f.look(team); s.Used[2*limit.Tokens] != 90 || s.Held != [limit.QuotaCount]int64{} {
				f.Errorf("the old year has its own requests: %+v", s)
			}
		}
	})
}

// open_tasks counts from admission to the end of the hold.
func TestOpenTasks(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "open_tasks: 2")
		task := func(n int) limit.Hold {
			h := hold(id(n), team, limit.Amounts{limit.Requests: 1, limit.Images: 1})
			h.Task = true
			return h
		}
		f.admit(task(1))
		f.admit(task(2))
		if s := f.admit(task(3)); s.Outcome != limit.Refused || s.Fault != limit.LimitTasks {
			f.Fatalf("a third task: %+v", s)
		}
		if s := f.admit(hold("text", team, limit.Amounts{limit.Requests: 1})); s.Outcome != limit.Admitted {
			f.Errorf("a request without a task: %+v", s)
		}
		f.settle(f.held(task(1)), team, limit.Amounts{}, false)
		if s := f.admit(task(3)); s.Outcome != limit.Admitted || s.Tasks != 2 {
			f.Errorf("after one was released: %+v", s)
		}
	})
}

// Shadow mode refuses nothing; a request beyond a limit takes nothing from the buckets, but counts in quotas beyond the
// limit.
func TestShadow(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "shadow: true", "rates: {requests: {per: 1m, limit: 2}}", "quotas: {requests: {day: 3}}")
		for n, want := range []limit.Outcome{limit.Admitted, limit.Admitted, limit.Shadowed, limit.Shadowed, limit.Shadowed} {
			h := hold(id(n), team, limit.Amounts{limit.Requests: 1})
			s := f.admit(h)
			if s.Outcome != want || s.Held[0]+s.Used[0] != int64(n+1) {
				f.Errorf("request %d: %+v, want %d", n, s, want)
			}
			f.settle(f.held(h), team, limit.Amounts{limit.Requests: 1}, false)
		}
		if s := f.look(team); s.Used[0] != 5 || s.Rates[limit.Requests].Left != 0 {
			f.Errorf("in the end: %+v", s)
		}
	})
}

// A reload changes limits and keeps the levels of buckets and the use.
func TestAReloadKeepsLevelsAndUse(t *testing.T) {
	forms(t, func(f *form) {
		with := func(burst string) *teams.Team {
			return limittest.Team(f, "rates: {requests: {per: 1m, limit: 60, burst: "+burst+"}}", "quotas: {requests: {day: "+burst+"}}")
		}
		for n := range 80 {
			f.admit(hold(id(n), with("100"), limit.Amounts{limit.Requests: 1}))
		}
		for _, tt := range []struct {
			burst      string
			left, held int64
		}{{"1000", 20, 80}, {"10", 10, 80}, {"100", 10, 80}} {
			s := f.look(with(tt.burst))
			if s.Outcome != limit.Admitted || s.Rates[limit.Requests].Left != tt.left || s.Held[0] != tt.held {
				f.Errorf("burst %s: %d left, want %d; %d held", tt.burst, s.Rates[limit.Requests].Left, tt.left, s.Held[0])
			}
			if tt.burst == "10" {
				if s := f.admit(hold("over", with(tt.burst), limit.Amounts{limit.Requests: 1})); s.Outcome != limit.Refused ||
					s.Fault != limit.LimitQuotas {
					f.Errorf("the new quota is below what is held: %+v", s)
				}
			}
			// A bucket changes to a new rate only when it is written, so that reading changes nothing.
			f.admit(hold("zero"+tt.burst, with(tt.burst), limit.Amounts{limit.Images: 1}))
		}
	})
}

// Amounts that cannot be counted are refused and change nothing.
func TestUncountableAmountsAreRefused(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "rates: {tokens: {per: 1s, limit: 10}}")
		for _, n := range []int64{-1, -1 << 62, unit.Most + 1, 1 << 62} {
			if _, err := f.tryAdmit(hold("a", team, limit.Amounts{limit.Tokens: n})); err == nil {
				f.Errorf("%d tokens were held", n)
			}
			if _, err := f.trySettle(f.held(hold("a", team, limit.Amounts{})), team, limit.Amounts{limit.Tokens: n}, false); err == nil {
				f.Errorf("%d tokens were charged", n)
			}
		}
		free := &teams.Team{ID: "search"}
		h := hold("b", free, limit.Amounts{limit.Tokens: unit.Most})
		f.admit(h)
		f.settle(f.held(h), free, limit.Amounts{limit.Tokens: unit.Most}, false)
		if s := f.look(team); s.Used[2*limit.Tokens] != unit.Most || s.Held != [limit.QuotaCount]int64{} || s.Rates[limit.Tokens].Left != 10 {
			f.Errorf("the most there is: %+v", s)
		}
	})
}

// An extended lease keeps a hold open.
func TestExtend(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f)
		h := hold("a", team, limit.Amounts{limit.Tokens: 5})
		f.admit(h)
		f.clock.Move(59 * time.Minute)
		f.extend(f.held(h), time.Hour)
		f.clock.Move(59 * time.Minute)
		if n := f.sweep("search"); n != 0 {
			f.Errorf("%d holds were due", n)
		}
		f.clock.Move(time.Minute)
		f.sweep("search")
		f.extend(f.held(h), time.Hour) // too late
		if s := f.look(team); s.Used[2*limit.Tokens] != 5 || s.Held[2*limit.Tokens] != 0 {
			f.Errorf("after the lease: %+v", s)
		}
	})
}

// An extension that arrives late, because it was repeated, shortens no lease.
func TestALateExtensionShortensNothing(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(t, "open_tasks: 1")
		h := limit.Hold{ID: "task", Team: team, Model: "m", Endpoint: policy.EndpointImage,
			Amounts: limit.Amounts{limit.Requests: 1, limit.Images: 4}, Task: true, Lease: time.Minute}
		f.admit(h)
		f.extend(f.held(h), 25*time.Hour) // it was claimed
		f.extend(f.held(h), 11*time.Minute)
		f.clock.Move(12 * time.Minute)
		f.sweep("search")
		if s := f.look(team); s.Tasks != 1 || s.Used[2*limit.Images] != 0 {
			t.Errorf("%d open tasks and %d images used", s.Tasks, s.Used[2*limit.Images])
		}
		f.clock.Move(25 * time.Hour)
		f.sweep("search")
		if s := f.look(team); s.Tasks != 0 {
			t.Errorf("%d open tasks when its lease has ended", s.Tasks)
		}
	})
}

// A hold as large as a bucket fits into a full one, also if its refill is not a whole number of microseconds, and nothing fits
// after it; the same holds for the account's.
func TestAWholeBucketFits(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(t, "rates: {images: {per: 1m, limit: 7, burst: 4}}")
		account := limit.OutsideFor(&teams.File{Account: []teams.AccountLimit{
			{Rates: []teams.Rate{{Unit: unit.NameImages, Limit: 7, Burst: 4, Per: time.Minute, PerText: "1m"}}}}}, "")
		for n := range 3 {
			if s := f.look(team); s.Rates[limit.Images].Left != 4 {
				t.Errorf("%d: %d left of a full bucket of 4", n, s.Rates[limit.Images].Left)
			}
			for _, want := range []bool{true, false} {
				h := hold(fmt.Sprint(n, want), team, limit.Amounts{limit.Requests: 1, limit.Images: 4})
				h.Outside, h.Lease = account, time.Hour
				if v, err := f.verdict(t.Context(), &h); err != nil || (v.Held != nil) != want {
					t.Errorf("%d: 4 images of a bucket of 4: %+v, %v", n, v, err)
				}
			}
			h := hold(fmt.Sprint(n, "account"), &teams.Team{ID: "other"}, limit.Amounts{limit.Requests: 1, limit.Images: 4})
			h.Outside, h.Lease = account, time.Hour
			if v, err := f.verdict(t.Context(), &h); err != nil || v.Reason != limit.ReasonAccount {
				t.Errorf("%d: the account's bucket has more than 4: %+v, %v", n, v, err)
			}
			f.clock.Move(35 * time.Second)
		}
	})
}

// A rate that a reload adds counts only the holds taken from it: older holds give it nothing back, and their excess use
// takes nothing from it.
func TestARateThatAReloadAddsIsNotCredited(t *testing.T) {
	forms(t, func(f *form) {
		without := limittest.Team(f, "rates: {requests: {per: 1h, limit: 100}}")
		with := limittest.Team(f, "rates: {requests: {per: 1h, limit: 100}, tokens: {per: 1h, limit: 1000}}")
		var old []*limit.Held
		for n := range 10 {
			old = append(old, f.ask(hold(id(n), without, limit.Amounts{limit.Requests: 1, limit.Tokens: 100})).Held)
		}
		if v := f.ask(hold("all there is", with, limit.Amounts{limit.Requests: 1, limit.Tokens: 1000})); v.Held == nil {
			f.Fatalf("%+v", v)
		}
		for _, h := range old[:5] {
			f.charge(h, with, limit.Amounts{limit.Requests: 1})
		}
		if v := f.ask(hold("more", with, limit.Amounts{limit.Requests: 1, limit.Tokens: 1})); v.Held != nil {
			f.Errorf("an amount that was never taken was given back: %+v", f.look(with).Rates[limit.Tokens])
		}
		before := f.look(with).Rates[limit.Tokens]
		for _, h := range old[5:] {
			f.charge(h, with, limit.Amounts{limit.Requests: 1, limit.Tokens: 150})
		}
		if after := f.look(with).Rates[limit.Tokens]; after != before {
			f.Errorf("old holds changed the new rate from %+v to %+v", before, after)
		}
		if s := f.look(with); s.Rates[limit.Requests].Left != 89 {
			f.Errorf("%d requests are left, want 89: 10 old, and one of two new ones", s.Rates[limit.Requests].Left)
		}
	})
}

// A hold gives back to the rate that it was taken from, although a reload removed the rate for a while.
func TestARateThatComesBackIsCredited(t *testing.T) {
	forms(t, func(f *form) {
		with := limittest.Team(f, "rates: {tokens: {per: 1h, limit: 1000}}")
		h := f.ask(hold("a", with, limit.Amounts{limit.Requests: 1, limit.Tokens: 400})).Held
		f.ask(hold("b", limittest.Team(f), limit.Amounts{limit.Requests: 1, limit.Tokens: 1}))
		f.charge(h, with, limit.Amounts{limit.Requests: 1, limit.Tokens: 100})
		if s := f.look(with); s.Rates[limit.Tokens].Left != 900 {
			f.Errorf("%d tokens are left, want 900", s.Rates[limit.Tokens].Left)
		}
	})
}

// Each admission first charges its team's expired holds, sixteen at most; the next one charges the rest.
func TestAnAdmissionChargesWhatIsDue(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "quotas: {images: {day: 100}}")
		for n := range 20 {
			h := hold(id(n), team, limit.Amounts{limit.Images: 1})
			h.Lease = time.Hour
			f.admit(h)
		}
		f.clock.Move(2 * time.Hour)
		for n, used := range []int64{16, 20} {
			s := f.admit(hold(fmt.Sprint("new", n), team, limit.Amounts{limit.Requests: 1, limit.Images: 1}))
			if s.Used[2*limit.Images] != used || s.Held[2*limit.Images] != 20-used+int64(n+1) {
				f.Errorf("admission %d: %d used, %d held; want %d used", n, s.Used[2*limit.Images], s.Held[2*limit.Images], used)
			}
		}
	})
}
