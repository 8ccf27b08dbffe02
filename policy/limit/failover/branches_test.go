package failover

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// branches is an estate with accounts at the service.
type branches struct {
	*estate
	mover interface {
		Move(ctx context.Context, from *limit.Held, to *limit.Hold) (limit.Verdict, error)
	}
	outsides limit.Outsides
}

const branchesDoc = `
house: {quotas: {images: {day: 40}}}
teams:
  - {id: search, quotas: {images: {day: 30}}, open_tasks: 5}
  - {id: shop}
`

// account is one with a quota of images a day, and a rate of requests; 0: none.
func account(id string, images, requests int64) *teams.Account {
	a := &teams.Account{ID: id}
	if images > 0 {
		a.Quotas = &teams.Team{ID: teams.AccountQuotasID(id), Quotas: []teams.Quota{
			{Unit: unit.NameImages, Period: teams.PeriodDay, Limit: images}}}
	}
	if requests > 0 {
		a.Limits = []teams.AccountLimit{{Rates: []teams.Rate{{Unit: unit.NameRequests, Per: time.Hour, PerText: "1h", Limit: requests,
			Burst: requests}}}}
	}
	return a
}

// eachBranches runs a test over both forms.
func eachBranches(t *testing.T, test func(b *branches)) {
	estates(t, branchesDoc, func(e *estate) { test(branchesOf(e)) })
}

func branchesOf(e *estate) *branches {
	return &branches{estate: e, mover: e.housed.(interface {
		Move(ctx context.Context, from *limit.Held, to *limit.Hold) (limit.Verdict, error)
	})}
}

func (b *branches) on(a *teams.Account, team string, images int64) *limit.Hold {
	h := b.hold(b.File, team, limit.Amounts{limit.Requests: 1, limit.Images: images})
	h.Account, h.Outside = a.ID, b.outsides.For(b.File, a, h.Model)
	return h
}

func (b *branches) take(h *limit.Hold) *limit.Held {
	b.Helper()
	v := b.try(h)
	if v.Held == nil {
		b.Fatalf("%s was refused: %+v", h.ID, v)
	}
	return v.Held
}

// move moves a hold to another account.
func (b *branches) move(held *limit.Held, to *teams.Account) limit.Verdict {
	b.Helper()
	h := b.on(to, held.Team, held.Amounts[limit.Images])
	h.ID = held.ID
	v, err := b.mover.Move(b.Context(), held, h)
	if err != nil {
		b.Fatal(err)
	}
	b.wait()
	return v
}

// taken compares what the quota of an account, of a team or of the house used and holds.
func (b *branches) taken(about string, of *teams.Team, used, held int64) {
	b.Helper()
	if u, h := b.images(of); u != used || h != held {
		b.Errorf("%s: %s used %d and holds %d, want %d and %d", about, of.ID, u, h, used, held)
	}
}

// ledger compares the images of each account that all teams used.
func (b *branches) ledger(want map[string]int64) {
	b.Helper()
	rows, err := b.Rows(b.Context(), limit.Query{Days: []int{limit.CalendarOf(b.clock.Now()).Day}, By: limit.ScopeAccount})
	got := map[string]int64{}
	for _, row := range rows {
		if n := row.Used[limit.Images]; n != 0 {
			got[row.Account] += n
		}
	}
	if err != nil || !maps.Equal(got, want) {
		b.Errorf("the ledger has %v, want %v (%v)", got, want, err)
	}
}

// All work on an account is held in its quotas, whose team it may be; work on another is not.
func TestTheQuotasOfAnAccountCapItsWork(t *testing.T) {
	eachBranches(t, func(b *branches) {
		eu, main := account("eu", 10, 0), account(teams.MainAccount, 0, 0)
		first, second := b.take(b.on(eu, "search", 4)), b.take(b.on(eu, "shop", 4))
		b.take(b.on(main, "shop", 4))
		b.taken("two are held", eu.Quotas, 0, 8)
		h := b.on(eu, "shop", 4)
		v := b.try(h)
		want := "Account eu at the service has 2 left of its quota images-day of 10, and this request may cost 4; running requests hold the " +
			"rest, which may be free in 5s."
		if text := v.Explain(h); v.Held != nil || v.Reason != limit.ReasonAccount || v.Fault.Scope != limit.ScopeAccount || text != want {
			b.Errorf("%+v: %s", v, text)
		}
		b.wants("the account refused", 0, 12)
		b.charge(first, 4)
		b.charge(second, 4)
		if v := b.try(b.on(eu, "shop", 4)); v.Reason != limit.ReasonAccount || v.Wait != 12*time.Hour {
			b.Errorf("8 of 10 are used: %+v", v)
		}
		h = b.on(eu, "shop", 11)
		v = b.try(h)
		want = "The request asks for 11 and can never fit: account eu at the service is allowed 10 of images per day."
		if text := v.Explain(h); v.Reason != limit.ReasonNever || text != want {
			b.Errorf("%+v: %s", v, text)
		}
		b.taken("both were settled", eu.Quotas, 8, 0)
		b.ledger(map[string]int64{"eu": 8})
	})
}

// Of equal waits the narrowest is named: the account before the house.
func TestTheAccountIsNamedBeforeTheHouse(t *testing.T) {
	eachBranches(t, func(b *branches) {
		eu, main := account("eu", 4, 0), account(teams.MainAccount, 0, 0)
		b.charge(b.take(b.on(eu, "shop", 4)), 4)
		b.charge(b.take(b.on(main, "shop", 36)), 36)
		if v := b.try(b.on(eu, "shop", 1)); v.Reason != limit.ReasonAccount {
			b.Errorf("both are used up until midnight: %+v", v)
		}
		if v := b.try(b.on(main, "shop", 1)); v.Reason != limit.ReasonHouse {
			b.Errorf("the house is used up: %+v", v)
		}
	})
}

// An account whose quotas are new counts what was used on it before, and what requests in flight hold there, and nothing of others.
func TestANewQuotaOfAnAccountCountsWhatWasUsedBefore(t *testing.T) {
	for _, id := range []string{teams.MainAccount, "eu"} {
		t.Run(id, func(t *testing.T) {
			eachBranches(t, func(b *branches) {
				none, with, other := account(id, 0, 0), account(id, 10, 0), account("other", 0, 0)
				b.charge(b.take(b.on(none, "search", 3)), 3)
				b.charge(b.take(b.on(other, "search", 5)), 5)
				open := b.take(b.on(none, "shop", 2))
				b.take(b.on(other, "shop", 5))
				if v := b.try(b.on(with, "shop", 6)); v.Reason != limit.ReasonAccount {
					b.Errorf("5 of 10 are taken: %+v", v)
				}
				b.charge(b.take(b.on(with, "shop", 1)), 1)
				b.charge(open, 2)
				b.taken("the quota is new", with.Quotas, 6, 0)
				b.charge(b.take(b.on(none, "shop", 2)), 2) // it was removed for a while
				b.charge(b.take(b.on(with, "shop", 1)), 1)
				b.taken("the quota is back", with.Quotas, 9, 0)
			})
		})
	}
}

// A hold that moves takes from the new account and gives back what it took of the old one. The team's stays, and so does the house's.
func TestAHoldMoves(t *testing.T) {
	eachBranches(t, func(b *branches) {
		eu, us := account("eu", 10, 1), account("us", 10, 1)
		held := b.take(b.on(eu, "search", 4))
		v := b.move(held, us)
		if v.Held == nil || v.Held.Account != "us" || v.Held.ID != held.ID || limit.RequestOf(v.Held.ID) != fmt.Sprint("h", b.n-1) {
			b.Fatalf("%+v", v)
		}
		check := func(about string, used, holds int64) {
			b.taken(about, eu.Quotas, 0, 0)
			b.taken(about, us.Quotas, used, holds)
			b.taken(about, b.Team("search"), used, holds)
			b.wants(about, used, holds)
		}
		check("it moved", 0, 4)
		if v := b.try(b.on(us, "search", 1)); v.Reason != limit.ReasonAccount || v.Fault.Of != "us" {
			b.Errorf("the rate of us is spent: %+v", v)
		}
		b.charge(b.take(b.on(eu, "search", 0)), 0) // the rate of eu is not
		b.charge(v.Held, 3)
		check("it was settled", 3, 0)
		b.ledger(map[string]int64{"us": 3})
	})
}

// What the new account refuses leaves the hold where it was.
func TestARefusedMoveChangesNothing(t *testing.T) {
	for what, us := range map[string]*teams.Account{"the rate": account("us", 10, 1), "the quota": account("us", 4, 9)} {
		t.Run(what, func(t *testing.T) {
			eachBranches(t, func(b *branches) {
				eu := account("eu", 10, 1)
				b.take(b.on(us, "shop", 2))
				held := b.take(b.on(eu, "search", 3))
				if v := b.move(held, us); v.Held != nil || v.Reason != limit.ReasonAccount || v.Wait <= 0 || v.Fault.Of != "us" {
					b.Errorf("%+v", v)
				}
				b.taken("refused", us.Quotas, 0, 2)
				b.taken("refused", eu.Quotas, 0, 3)
				if v := b.try(b.on(eu, "search", 1)); v.Reason != limit.ReasonAccount {
					b.Errorf("the rate of eu is spent: %+v", v)
				}
				b.charge(held, 3)
				b.ledger(map[string]int64{"eu": 3})
			})
		})
	}
}

// A hold that moved and whose lease ends is charged on the account to which it moved.
func TestTheLeaseOfAMovedHoldEnds(t *testing.T) {
	eachBranches(t, func(b *branches) {
		eu, us := account("eu", 10, 0), account("us", 10, 0)
		b.move(b.take(b.on(eu, "search", 4)), us)
		b.clock.Move(2 * time.Hour)
		_ = b.Maintain(b.Context())
		b.taken("its lease has ended", us.Quotas, 4, 0)
		b.taken("its lease has ended", eu.Quotas, 0, 0)
		b.ledger(map[string]int64{"us": 4})
	})
}

// A request that one account refused is admitted on another by the same id, although its first hold was given back.
func TestAnotherAccountIsTried(t *testing.T) {
	eachBranches(t, func(b *branches) {
		eu, us := account("eu", 4, 0), account("us", 4, 0)
		b.take(b.on(eu, "search", 4))
		h := b.on(eu, "search", 3)
		if v := b.try(h); v.Reason != limit.ReasonAccount {
			b.Fatalf("%+v", v)
		}
		h.Account, h.Outside = "us", b.outsides.For(b.File, us, h.Model)
		held := b.take(h)
		if again := b.take(h); again.ID != held.ID {
			b.Errorf("%s and %s", held.ID, again.ID)
		}
		b.taken("it is held once", b.Team("search"), 0, 7)
		b.charge(held, 2)
		b.ledger(map[string]int64{"us": 2})
	})
	const first = "019aa2c4-8f3e-7c11-9d3b-5e8a4f1c2b3d"
	placed := (&limit.Hold{ID: first, Account: "eu"}).OnAccount()
	if at := limit.MadeAt(placed.ID); at.IsZero() || at != limit.MadeAt(first) || limit.RequestOf(placed.ID) != first {
		t.Errorf("%s of %s was made at %v", placed.ID, limit.RequestOf(placed.ID), at)
	}
}

// Without Redis a hold moves by the allowance of the new account's quotas and this process's share of its rates. Nothing is lost.
func TestAHoldMovesWithoutRedis(t *testing.T) {
	file, err := teams.Parse([]byte("teams: [{id: shop}]"))
	if err != nil {
		t.Fatal(err)
	}
	harnesses(t, nil, func(s *harness) {
		b := &branches{estate: &estate{T: s.T, housed: s.Failover, File: file, clock: s.clock, wait: func() {}}, mover: s.Failover}
		eu, us := account("eu", 1000, 0), account("us", 1000, 30)
		b.charge(b.take(b.on(eu, "shop", 1)), 1)
		b.charge(b.take(b.on(us, "shop", 1)), 1)
		before := b.take(b.on(eu, "shop", 2))
		s.settled()
		s.clock.Move(renewEvery)
		s.back()
		s.fault.mode.Store(away)
		during := b.take(b.on(eu, "shop", 3))
		for _, held := range []*limit.Held{before, during} {
			v := b.move(held, us)
			if v.Held == nil {
				t.Fatalf("%+v", v)
			}
			s.SettleLater(&limit.Charge{Held: v.Held, Team: file.Team("shop"),
				Amounts: limit.Amounts{limit.Requests: 1, limit.Images: held.Amounts[limit.Images]}})
		}
		if _, err := b.mover.Move(s.Context(), during, b.on(account("de", 9, 0), "shop", 3)); err == nil {
			t.Error("an account without an allowance has room")
		}
		s.back()
		s.settled()
		b.taken("Redis is back", eu.Quotas, 1, 0)
		b.taken("Redis is back", us.Quotas, 6, 0)
		b.ledger(map[string]int64{"eu": 1, "us": 6})
	})
}

// A replica without the quotas of an account, of an earlier release or with another file, charges the ledger alone. The others add that
// within ten minutes.
func TestReplicasWithoutTheQuotasOfAnAccount(t *testing.T) {
	file, err := teams.Parse([]byte("teams: [{id: shop}]"))
	if err != nil {
		t.Fatal(err)
	}
	first := newHarness(t, limittest.RealRedis(t), nil)
	replica := func(f *Failover) *branches {
		return &branches{estate: &estate{T: t, housed: f, File: file, clock: first.clock, wait: func() {}}, mover: f}
	}
	other := New(Config{Store: storeAt(first.client, first.clock), Timeout: time.Minute, Replicas: 1, Now: first.clock.Now})
	t.Cleanup(func() { _ = other.Close(context.Background()) })
	with, none := account("eu", 100, 0), account("eu", 0, 0)
	a, b := replica(first.Failover), replica(other)
	b.n = 1000
	a.charge(a.take(a.on(with, "shop", 1)), 1)
	for n := range 3 {
		first.clock.Move(time.Second)
		_ = other.Maintain(t.Context())
		b.charge(b.take(b.on(none, "shop", 2)), 2)
		first.clock.Move(checkAtService)
		_ = first.Maintain(t.Context())
		a.taken(fmt.Sprint("round ", n), with.Quotas, 1+2*int64(n+1), 0)
	}
}

// The quotas of an account that Redis forgot are restored, and go on; so is the account of each hold.
func TestTheQuotasOfAnAccountAreRestored(t *testing.T) {
	file, err := teams.Parse([]byte(branchesDoc))
	if err != nil {
		t.Fatal(err)
	}
	harnesses(t, nil, func(s *harness) {
		b := &branches{estate: &estate{T: s.T, housed: s.Failover, File: file, clock: s.clock, wait: s.settled}, mover: s.Failover}
		eu, us := account("eu", 10, 0), account("us", 10, 0)
		b.charge(b.take(b.on(eu, "search", 3)), 3)
		b.take(b.on(eu, "shop", 2))
		b.move(b.take(b.on(us, "search", 1)), eu)
		_ = s.Maintain(s.Context())
		if err := s.client.FlushAll(s.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		s.clock.Move(time.Second)
		_ = s.Maintain(s.Context())
		s.clock.Move(2 * redisstore.RestoringTime)
		_ = s.Maintain(s.Context())
		b.taken("restored", eu.Quotas, 3, 3)
		s.clock.Move(2 * time.Hour)
		_ = s.Maintain(s.Context())
		b.taken("the leases have ended", eu.Quotas, 6, 0)
		b.ledger(map[string]int64{"main": 3, "eu": 3}) // what was used before is restored without its account
	})
}
