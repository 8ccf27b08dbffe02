package limit

import (
	"fmt"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/teams"
)

// A bucket lets a burst through and then its rate, and says how long to wait.
func TestBucket(t *testing.T) {
	forms(t, func(f *form) {
		team := team(f, "rates: {requests: {per: 1m, limit: 60, burst: 10}}")
		one := Amounts{Requests: 1}
		for n := range 10 {
			if s := f.admit(hold(id(n), team, one)); s.outcome != admitted || s.rates[Requests].left != int64(9-n) {
				f.Fatalf("request %d: %+v", n, s)
			}
		}
		s := f.admit(hold("more", team, one))
		if s.outcome != refused || s.fault != Requests || s.wait != time.Second || s.rates[Requests].full != 10*time.Second {
			f.Fatalf("the bucket is empty: %+v", s)
		}
		f.clock.move(999 * time.Millisecond)
		if s := f.admit(hold("more", team, one)); s.outcome != refused || s.wait != time.Millisecond || s.rates[Requests].left != 0 {
			f.Fatalf("a millisecond early: %+v", s)
		}
		f.clock.move(time.Millisecond)
		if s := f.admit(hold("more", team, one)); s.outcome != admitted {
			f.Fatalf("after the wait that was told: %+v", s)
		}
	})
}

// A refusal leaves every bucket and quota as it was, whichever of them refuses.
func TestRefusalTakesNothing(t *testing.T) {
	forms(t, func(f *form) {
		team := team(f, "rates: {requests: {per: 1m, limit: 10}, tokens: {per: 1m, limit: 1000}, images: {per: 1m, limit: 4}}",
			"quotas: {tokens: {day: 800}, spend: {month: 1.00}}", "open_tasks: 1")
		f.admit(hold("first", team, Amounts{Requests: 1, Tokens: 700, Images: 1, Spend: 500_000_000}))
		before := f.look(team)
		for what, h := range map[string]Hold{
			"the token bucket":  hold("a", team, Amounts{Requests: 1, Tokens: 400}),
			"the day's tokens":  hold("b", team, Amounts{Requests: 1, Tokens: 200}),
			"the month's money": hold("c", team, Amounts{Requests: 1, Tokens: 1, Spend: 500_000_001}),
			"the image bucket":  hold("d", team, Amounts{Requests: 1, Images: 4}),
		} {
			if s := f.admit(h); s.outcome != refused {
				f.Errorf("%s let %v pass", what, h.Amounts)
			}
			if after := f.look(team); after != before {
				f.Errorf("refused by %s, but the accounts went from\n%+v to\n%+v", what, before, after)
			}
		}
	})
}

// Of several limits that refuse, the one that does so longest is named.
func TestTheLongestWaitIsNamed(t *testing.T) {
	forms(t, func(f *form) {
		team := team(f, "rates: {requests: {per: 1m, limit: 1}, tokens: {per: 1s, limit: 10}}", "quotas: {tokens: {day: 10}}")
		held := f.held(hold("a", team, Amounts{Requests: 1, Tokens: 10}))
		f.admit(hold("a", team, Amounts{Requests: 1, Tokens: 10}))
		if s := f.admit(hold("b", team, Amounts{Requests: 1, Tokens: 10})); s.fault != Requests || s.wait != time.Minute {
			f.Errorf("only a hold stands against the quota: %+v", s)
		}
		f.settle(held, team, Amounts{Requests: 1, Tokens: 10}, false)
		if s := f.admit(hold("b", team, Amounts{Requests: 1, Tokens: 10})); s.fault != limitQuotas+2*Tokens || s.wait != 12*time.Hour {
			f.Errorf("the day's tokens are used: %+v", s)
		}
		two := &teams.Team{ID: "two", Quotas: []teams.Quota{{Unit: teams.UnitTokens, Period: teams.PeriodDay, Limit: 1}, {Unit: teams.UnitImages, Period: teams.PeriodDay, Limit: 1}}}
		if s := f.admit(hold("c", two, Amounts{Tokens: 2, Images: 2})); s.fault != limitQuotas+2*Tokens {
			f.Errorf("of two that refuse as long the first is named, by both forms: %+v", s)
		}
	})
}

// Settling gives back what was held too much, and takes what was held too little, in rates as in quotas.
func TestSettlementCorrects(t *testing.T) {
	forms(t, func(f *form) {
		team := team(f, "rates: {tokens: {per: 1m, limit: 6000, burst: 100}}", "quotas: {tokens: {day: 1000000, month: 5000000}}")
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
			h := hold(tt.about, team, Amounts{Tokens: tt.held})
			held := f.held(h)
			before := f.look(team)
			if s := f.admit(h); s.outcome != admitted {
				f.Fatalf("%s: %+v", tt.about, s)
			}
			if !f.settle(held, team, Amounts{Tokens: tt.used}, false) {
				f.Errorf("%s: not settled", tt.about)
			}
			after := f.look(team)
			if after.rates[Tokens].left != tt.left {
				f.Errorf("%s: %d left in the bucket, want %d", tt.about, after.rates[Tokens].left, tt.left)
			}
			q := 2 * Tokens
			if used := after.used[q] - before.used[q]; used != tt.used || after.held != before.held {
				f.Errorf("%s: the day used %d more and holds %v", tt.about, used, after.held)
			}
			if s := f.admit(hold("after "+tt.about, team, Amounts{Tokens: 1})); s.fault == Tokens && s.wait != tt.wait || s.fault != Tokens && tt.wait > 0 {
				f.Errorf("%s: the next token waits %v, want %v", tt.about, s.wait, tt.wait)
			}
			f.clock.move(24 * time.Hour)
		}
	})
}

// Settling twice, or again after its lease has ended, charges once: the first settlement counts, and the truth corrects
// an estimate.
func TestSettledOnce(t *testing.T) {
	forms(t, func(f *form) {
		team := team(f, "quotas: {images: {day: 100}}")
		q := 2 * Images
		h := hold("a", team, Amounts{Requests: 1, Images: 4})
		h.Task, h.Lease = true, time.Hour
		held := f.held(h)
		f.admit(h)
		if s := f.admit(h); s.outcome != admitted || s.held[q] != 4 || s.tasks != 1 {
			f.Errorf("admitted twice: %+v", s)
		}
		f.clock.move(time.Hour)
		if n := f.sweep("search"); n != 1 {
			f.Errorf("%d holds were due, want 1", n)
		}
		if s := f.look(team); s.used[q] != 4 || s.held[q] != 0 || s.tasks != 0 {
			f.Errorf("after its lease: %+v", s)
		}
		if !f.settle(held, team, Amounts{Requests: 1, Images: 3}, false) {
			f.Error("the truth came late and changed nothing")
		}
		if f.settle(held, team, Amounts{Requests: 1, Images: 1}, false) {
			f.Error("settled again")
		}
		if s := f.look(team); s.used[q] != 3 || s.used[0] != 1 || s.held[q] != 0 || s.tasks != 0 {
			f.Errorf("in the end: %+v", s)
		}
	})
}

// Q12, F-X3: what is admitted in one period is charged to it, whenever it is settled or its lease ends.
func TestQ12FX3PeriodOfAdmission(t *testing.T) {
	forms(t, func(f *form) {
		f.clock.move(time.Date(2026, 12, 31, 23, 59, 59, 900_000_000, time.UTC).Sub(f.clock.now()))
		team := team(f, "quotas: {tokens: {day: 100, month: 100}}")
		a, b := hold("a", team, Amounts{Tokens: 60}), hold("b", team, Amounts{Tokens: 40})
		heldA := f.held(a)
		f.admit(a)
		f.admit(b)
		if s := f.admit(hold("c", team, Amounts{Tokens: 1})); s.outcome != refused {
			f.Errorf("the year's last tokens are held: %+v", s)
		}
		f.clock.move(200 * time.Millisecond)
		if s := f.admit(hold("c", team, Amounts{Tokens: 100})); s.outcome != admitted || s.held[2*Tokens] != 100 {
			f.Errorf("a new year: %+v", s)
		}
		f.settle(heldA, team, Amounts{Tokens: 50}, false)
		f.clock.move(time.Hour)
		f.sweep("search") // b, and c with the same lease a moment later
		f.clock.move(time.Second)
		f.sweep("search")
		s := f.look(team)
		if s.used[2*Tokens] != 100 || s.used[2*Tokens+1] != 100 || s.held != [quotaCount]int64{} {
			f.Errorf("the new year has what it admitted: %+v", s)
		}
		f.clock.move(-2 * time.Hour)
		if f.redis != nil { // memory's clock does not go back
			if s := f.look(team); s.used[2*Tokens] != 90 || s.held != [quotaCount]int64{} {
				f.Errorf("the old year has what it admitted: %+v", s)
			}
		}
	})
}

// open_tasks counts from admission to the end of the hold.
func TestOpenTasks(t *testing.T) {
	forms(t, func(f *form) {
		team := team(f, "open_tasks: 2")
		task := func(n int) Hold {
			h := hold(id(n), team, Amounts{Requests: 1, Images: 1})
			h.Task = true
			return h
		}
		f.admit(task(1))
		f.admit(task(2))
		if s := f.admit(task(3)); s.outcome != refused || s.fault != limitTasks {
			f.Fatalf("a third task: %+v", s)
		}
		if s := f.admit(hold("text", team, Amounts{Requests: 1})); s.outcome != admitted {
			f.Errorf("what is no task: %+v", s)
		}
		f.settle(f.held(task(1)), team, Amounts{}, false)
		if s := f.admit(task(3)); s.outcome != admitted || s.tasks != 2 {
			f.Errorf("after one was released: %+v", s)
		}
	})
}

// Shadow: nothing is refused; what would be takes nothing from the buckets, but counts in quotas beyond the limit.
func TestShadow(t *testing.T) {
	forms(t, func(f *form) {
		team := team(f, "shadow: true", "rates: {requests: {per: 1m, limit: 2}}", "quotas: {requests: {day: 3}}")
		for n, want := range []outcome{admitted, admitted, shadowed, shadowed, shadowed} {
			h := hold(id(n), team, Amounts{Requests: 1})
			s := f.admit(h)
			if s.outcome != want || s.held[0]+s.used[0] != int64(n+1) {
				f.Errorf("request %d: %+v, want %d", n, s, want)
			}
			f.settle(f.held(h), team, Amounts{Requests: 1}, false)
		}
		if s := f.look(team); s.used[0] != 5 || s.rates[Requests].left != 0 {
			f.Errorf("in the end: %+v", s)
		}
	})
}

// A142, F-D3: a reload changes limits and leaves what is in the buckets and what is used.
func TestA142FD3Reload(t *testing.T) {
	forms(t, func(f *form) {
		with := func(burst string) *teams.Team {
			return team(f, "rates: {requests: {per: 1m, limit: 60, burst: "+burst+"}}", "quotas: {requests: {day: "+burst+"}}")
		}
		for n := range 80 {
			f.admit(hold(id(n), with("100"), Amounts{Requests: 1}))
		}
		for _, tt := range []struct {
			burst      string
			left, held int64
		}{{"1000", 20, 80}, {"10", 10, 80}, {"100", 10, 80}} {
			s := f.look(with(tt.burst))
			if s.outcome != admitted || s.rates[Requests].left != tt.left || s.held[0] != tt.held {
				f.Errorf("burst %s: %d left, want %d; %d held", tt.burst, s.rates[Requests].left, tt.left, s.held[0])
			}
			if tt.burst == "10" {
				if s := f.admit(hold("over", with(tt.burst), Amounts{Requests: 1})); s.outcome != refused || s.fault != limitQuotas {
					f.Errorf("the new quota is below what is held: %+v", s)
				}
			}
			// A bucket is only brought to a new rate when it is written, so that looking changes nothing.
			f.admit(hold("zero"+tt.burst, with(tt.burst), Amounts{Images: 1}))
		}
	})
}

// Q15: amounts that cannot be counted are refused and change nothing.
func TestQ15Amounts(t *testing.T) {
	forms(t, func(f *form) {
		team := team(f, "rates: {tokens: {per: 1s, limit: 10}}")
		for _, n := range []int64{-1, -1 << 62, teams.MaxAmount + 1, 1 << 62} {
			if _, err := f.tryAdmit(hold("a", team, Amounts{Tokens: n})); err == nil {
				f.Errorf("%d tokens were held", n)
			}
			if _, err := f.trySettle(f.held(hold("a", team, Amounts{})), team, Amounts{Tokens: n}, false); err == nil {
				f.Errorf("%d tokens were charged", n)
			}
		}
		free := &teams.Team{ID: "search"}
		h := hold("b", free, Amounts{Tokens: teams.MaxAmount})
		f.admit(h)
		f.settle(f.held(h), free, Amounts{Tokens: teams.MaxAmount}, false)
		if s := f.look(team); s.used[2*Tokens] != teams.MaxAmount || s.held != [quotaCount]int64{} || s.rates[Tokens].left != 10 {
			f.Errorf("the most there is: %+v", s)
		}
	})
}

// An extended lease keeps a hold open.
func TestExtend(t *testing.T) {
	forms(t, func(f *form) {
		team := team(f)
		h := hold("a", team, Amounts{Tokens: 5})
		f.admit(h)
		f.clock.move(59 * time.Minute)
		f.extend(f.held(h), time.Hour)
		f.clock.move(59 * time.Minute)
		if n := f.sweep("search"); n != 0 {
			f.Errorf("%d holds were due", n)
		}
		f.clock.move(time.Minute)
		f.sweep("search")
		f.extend(f.held(h), time.Hour) // too late
		if s := f.look(team); s.used[2*Tokens] != 5 || s.held[2*Tokens] != 0 {
			f.Errorf("after the lease: %+v", s)
		}
	})
}

// An extension that arrives late, because it was sent again, shortens no lease.
func TestALateExtensionShortensNothing(t *testing.T) {
	forms(t, func(f *form) {
		team := team(t, "open_tasks: 1")
		h := Hold{ID: "task", Team: team, Model: "m", Endpoint: policy.EndpointImage, Amounts: Amounts{Requests: 1, Images: 4}, Task: true, Lease: time.Minute}
		f.admit(h)
		f.extend(f.held(h), 25*time.Hour) // it was claimed
		f.extend(f.held(h), 11*time.Minute)
		f.clock.move(12 * time.Minute)
		f.sweep("search")
		if s := f.look(team); s.tasks != 1 || s.used[2*Images] != 0 {
			t.Errorf("%d open tasks and %d images used", s.tasks, s.used[2*Images])
		}
		f.clock.move(25 * time.Hour)
		f.sweep("search")
		if s := f.look(team); s.tasks != 0 {
			t.Errorf("%d open tasks when its lease has ended", s.tasks)
		}
	})
}

// As much as a bucket holds fits into a full one, also where its refill is no whole number of microseconds, and nothing
// after it; so with the account's.
func TestAWholeBucketFits(t *testing.T) {
	forms(t, func(f *form) {
		team := team(t, "rates: {images: {per: 1m, limit: 7, burst: 4}}")
		account := []teams.AccountLimit{{Rates: []teams.Rate{{Unit: teams.UnitImages, Limit: 7, Burst: 4, Per: time.Minute, PerText: "1m"}}}}
		for n := range 3 {
			if s := f.look(team); s.rates[Images].left != 4 {
				t.Errorf("%d: %d left of a full bucket of 4", n, s.rates[Images].left)
			}
			for _, want := range []bool{true, false} {
				h := hold(fmt.Sprint(n, want), team, Amounts{Requests: 1, Images: 4})
				h.Account, h.Lease = account, time.Hour
				if v, err := f.verdict(t.Context(), &h); err != nil || (v.Held != nil) != want {
					t.Errorf("%d: 4 images of a bucket of 4: %+v, %v", n, v, err)
				}
			}
			h := hold(fmt.Sprint(n, "account"), &teams.Team{ID: "other"}, Amounts{Requests: 1, Images: 4})
			h.Account, h.Lease = account, time.Hour
			if v, err := f.verdict(t.Context(), &h); err != nil || v.Reason != ReasonAccount {
				t.Errorf("%d: the account's bucket has more than 4: %+v, %v", n, v, err)
			}
			f.clock.move(35 * time.Second)
		}
	})
}

// A rate that a reload adds, or gives back, has what was taken from it: nothing of the holds that were there before, neither
// what they give back nor what they used beyond their estimates.
func TestMend20ARateThatAReloadAddsIsNotCredited(t *testing.T) {
	forms(t, func(f *form) {
		without := team(f, "rates: {requests: {per: 1h, limit: 100}}")
		with := team(f, "rates: {requests: {per: 1h, limit: 100}, tokens: {per: 1h, limit: 1000}}")
		var old []*Held
		for n := range 10 {
			old = append(old, f.ask(hold(id(n), without, Amounts{Requests: 1, Tokens: 100})).Held)
		}
		if v := f.ask(hold("all there is", with, Amounts{Requests: 1, Tokens: 1000})); v.Held == nil {
			f.Fatalf("%+v", v)
		}
		for _, h := range old[:5] {
			f.charge(h, with, Amounts{Requests: 1})
		}
		if v := f.ask(hold("more", with, Amounts{Requests: 1, Tokens: 1})); v.Held != nil {
			f.Errorf("what was never taken was given back: %+v", f.look(with).rates[Tokens])
		}
		before := f.look(with).rates[Tokens]
		for _, h := range old[5:] {
			f.charge(h, with, Amounts{Requests: 1, Tokens: 150})
		}
		if after := f.look(with).rates[Tokens]; after != before {
			f.Errorf("old holds changed the new rate from %+v to %+v", before, after)
		}
		if s := f.look(with); s.rates[Requests].left != 89 {
			f.Errorf("%d requests are left, want 89: 10 old, and one of two new ones", s.rates[Requests].left)
		}
	})
}

// A hold gives back to the rate that it was taken from, although a reload took the rate away for a while.
func TestMend20ARateThatComesBackIsCredited(t *testing.T) {
	forms(t, func(f *form) {
		with := team(f, "rates: {tokens: {per: 1h, limit: 1000}}")
		h := f.ask(hold("a", with, Amounts{Requests: 1, Tokens: 400})).Held
		f.ask(hold("b", team(f), Amounts{Requests: 1, Tokens: 1}))
		f.charge(h, with, Amounts{Requests: 1, Tokens: 100})
		if s := f.look(with); s.rates[Tokens].left != 900 {
			f.Errorf("%d tokens are left, want 900", s.rates[Tokens].left)
		}
	})
}

// Each admission first charges what is due of its team, sixteen holds at most: what is left over is the next one's.
func TestAnAdmissionChargesWhatIsDue(t *testing.T) {
	forms(t, func(f *form) {
		team := team(f, "quotas: {images: {day: 100}}")
		for n := range 20 {
			h := hold(id(n), team, Amounts{Images: 1})
			h.Lease = time.Hour
			f.admit(h)
		}
		f.clock.move(2 * time.Hour)
		for n, used := range []int64{16, 20} {
			s := f.admit(hold(fmt.Sprint("new", n), team, Amounts{Requests: 1, Images: 1}))
			if s.used[2*Images] != used || s.held[2*Images] != 20-used+int64(n+1) {
				f.Errorf("admission %d: %d used, %d held; want %d used", n, s.used[2*Images], s.held[2*Images], used)
			}
		}
	})
}
