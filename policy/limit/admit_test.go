package limit

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/policy/teams"
)

// settler is what both forms promise the gateway.
type settler interface {
	Settle(ctx context.Context, c *Charge) (bool, error)
	Extend(ctx context.Context, h *Held, lease time.Duration) error
	Sweep(ctx context.Context, team string, most int) (int, error)
}

func (f *form) accounts() settler {
	if f.memory != nil {
		return f.memory
	}
	return f.redis
}

// verdict admits a hold, as the gateway sees it.
func (f *form) verdict(ctx context.Context, h *Hold) (Verdict, error) {
	if f.memory != nil {
		return f.memory.Admit(ctx, h)
	}
	return admitAlone(ctx, f.redis, h)
}

// admitAlone admits a hold in Redis alone, without an allowance.
func admitAlone(ctx context.Context, r *Redis, h *Hold) (Verdict, error) {
	t := termsOf(h.Team)
	if v, never := h.neverFits(&t); never {
		return v, nil
	}
	v, _, err := r.place(ctx, h, &t, &Loan{})
	return v, err
}

func (f *form) ask(h Hold) Verdict {
	f.Helper()
	h.Lease = time.Hour
	v, err := f.verdict(f.Context(), &h)
	if err != nil {
		f.Fatal(err)
	}
	return v
}

func (f *form) charge(h *Held, team *teams.Team, used Amounts) {
	f.Helper()
	if _, err := f.accounts().Settle(f.Context(), &Charge{Held: h, Team: team, Amounts: used}); err != nil {
		f.Fatal(err)
	}
}

// A verdict names every limit that the request was charged in, and the one that refuses.
func TestVerdict(t *testing.T) {
	forms(t, func(f *form) {
		team := team(f, "rates: {requests: {per: 1m, limit: 600, burst: 60}, tokens: {per: 1m, limit: 200000}}",
			"quotas: {images: {day: 500}, tokens: {month: 250000}}")
		v := f.ask(hold("a", team, Amounts{Requests: 1, Tokens: 1000}))
		if v.Held == nil || v.Reason != ReasonNone || v.Held.Day != 20261121 || v.Held.Month != 202611 {
			f.Fatalf("%+v", v)
		}
		want := []Standing{
			{Unit: "requests", Per: "1m", Limit: 600, Window: time.Minute, Left: 59, Reset: 100 * time.Millisecond},
			{Unit: "tokens", Per: "1m", Limit: 200000, Window: time.Minute, Left: 199000, Reset: 300 * time.Millisecond},
			{Unit: "tokens", Period: "month", Per: "month", Limit: 250000, Window: 30 * 24 * time.Hour, Held: 1000, Left: 249000, Reset: (9*24 + 12) * time.Hour},
		}
		if got := v.Limits; !slices.Equal(got, want) {
			f.Errorf("charged in\n%+v, want\n%+v", got, want)
		}
		v = f.ask(hold("b", team, Amounts{Requests: 1, Tokens: 199001}))
		if v.Held != nil || v.Reason != ReasonRate || v.Fault.Name() != "tokens" || v.Wait != 300*time.Microsecond || v.Asked != 199001 {
			f.Errorf("one token too many: %+v", v)
		}
		f.charge(f.ask(hold("c", team, Amounts{Tokens: 1})).Held, team, Amounts{Tokens: 400000})
		f.clock.move(10 * time.Minute)
		v = f.ask(hold("d", team, Amounts{Tokens: 1}))
		if v.Reason != ReasonQuota || v.Fault.Name() != "tokens-month" || v.Fault.Left != 0 || v.Fault.Used != 400000 || v.Limits[1].Reset != v.Wait {
			f.Errorf("the month is overdrawn: %+v", v)
		}
	})
}

// An exact cost that no waiting will let pass is told at once; an estimate and a shadow's never are.
func TestNever(t *testing.T) {
	forms(t, func(f *form) {
		limits := []string{"rates: {images: {per: 1m, limit: 60, burst: 3}, tokens: {per: 1m, limit: 5}}", "quotas: {spend: {day: 1.00}, images: {month: 2}}"}
		strict := team(f, limits...)
		for _, tt := range []struct {
			amounts Amounts
			want    Reason
			limit   string
		}{
			{Amounts{Images: 4}, ReasonNever, "images"},
			{Amounts{Images: 3}, ReasonNever, "images-month"},
			{Amounts{Images: 1, Spend: 1_000_000_001}, ReasonNever, "spend-day"},
			{Amounts{Tokens: 6}, ReasonRate, "tokens"},
			{Amounts{Tokens: 1, Spend: 1_000_000_001}, ReasonQuota, "spend-day"},
		} {
			if v := f.ask(hold("x", strict, tt.amounts)); v.Reason != tt.want || v.Fault.Name() != tt.limit || v.Held != nil {
				f.Errorf("%v: %+v", tt.amounts, v)
			}
		}
		shadow := team(f, append(limits, "shadow: true")...)
		if v := f.ask(hold("y", shadow, Amounts{Images: 4})); v.Held == nil || v.Reason == ReasonNone {
			f.Errorf("in shadow mode: %+v", v)
		}
	})
}

// The account's rates are shared by all teams; a request that they refuse takes nothing from its team.
func TestAccount(t *testing.T) {
	forms(t, func(f *form) {
		file, err := teams.Parse([]byte("teams:\n  - {id: search}\n  - {id: shop}\naccount:\n" +
			"  - {models: [\"gen*\"], requests: {per: 1s, limit: 2}, tokens: {per: 1s, limit: 100}}\n  - {models: [\"other\"], requests: {per: 1h, limit: 1}}\n"))
		if err != nil {
			f.Fatal(err)
		}
		ask := func(id, team string) Verdict {
			h := hold(id, file.Team(team), Amounts{Requests: 1, Tokens: 40})
			h.Account = AccountFor(file.Account, "gen2.6-image")
			return f.ask(h)
		}
		a, b := ask("a", "search"), ask("b", "shop")
		if a.Held == nil || b.Held == nil {
			f.Fatal("the account has room for two")
		}
		before := f.look(file.Team("search"))
		v := ask("c", "search")
		if v.Held != nil || v.Reason != ReasonAccount || v.Fault.Unit != teams.UnitRequests || v.Wait != 500*time.Millisecond {
			f.Errorf("a third: %+v", v)
		}
		if after := f.look(file.Team("search")); after.held != before.held || after.used != before.used {
			f.Errorf("the team was charged for what the account refused: %+v", after)
		}
		f.charge(a.Held, file.Team("search"), Amounts{Requests: 1, Tokens: 130})
		f.clock.move(500 * time.Millisecond)
		if v := ask("d", "shop"); v.Reason != ReasonAccount || v.Fault.Unit != teams.UnitTokens || v.Wait != 300*time.Millisecond {
			f.Errorf("the tokens that were used beyond the hold count: %+v", v)
		}
		f.charge(b.Held, file.Team("shop"), Amounts{Requests: 1, Tokens: 10})
		if v := ask("e", "shop"); v.Reason != ReasonAccount || v.Wait != 150*time.Millisecond { // a hold is a quarter of the bucket at most
			f.Errorf("the tokens that were held and not used are not given back: %+v", v)
		}
	})
}

// Shadow is the team's: the account's rates are everybody's, and refuse.
func TestShadowSparesNotTheAccount(t *testing.T) {
	forms(t, func(f *form) {
		h := hold("a", team(f, "shadow: true", "rates: {requests: {per: 1m, limit: 10}}"), Amounts{Requests: 1})
		h.Account = []teams.AccountLimit{{Rates: []teams.Rate{{Unit: teams.UnitRequests, Limit: 1, Burst: 1, Per: time.Minute, PerText: "1m"}}}}
		f.ask(h)
		h.ID = "b"
		if v := f.ask(h); v.Held != nil || v.Reason != ReasonAccount || v.Limits[0].Left != 9 {
			f.Errorf("%+v", v)
		}
	})
}

// Q03, A129: everybody at once, and not one too many.
func TestQ03A129AllAtOnce(t *testing.T) {
	forms(t, func(f *form) {
		team := team(f, "rates: {tokens: {per: 1h, limit: 100000}}", "quotas: {tokens: {day: 1000}}")
		var passed atomic.Int64
		start := make(chan struct{})
		var all sync.WaitGroup
		for w := range 64 {
			all.Go(func() {
				<-start
				for n := range 20 {
					h := hold(id(w*20+n), team, Amounts{Tokens: 10})
					h.Lease = time.Hour
					v, err := f.verdict(context.Background(), &h)
					if err != nil {
						f.Error(err)
						return
					}
					if v.Held != nil {
						passed.Add(1)
						if _, err := f.accounts().Settle(context.Background(), &Charge{Held: v.Held, Team: team, Amounts: h.Amounts}); err != nil {
							f.Error(err)
						}
					}
				}
			})
		}
		close(start)
		all.Wait()
		s := f.look(team)
		if passed.Load() != 100 || s.used[2*Tokens] != 1000 || s.held[2*Tokens] != 0 {
			f.Errorf("%d of 100 passed, %d tokens used, %d held", passed.Load(), s.used[2*Tokens], s.held[2*Tokens])
		}
	})
}

// F-R6: Redis loses its memory. What this process knew is put back before anything is admitted, and what it settles
// later is charged although the hold is gone.
func TestFR6LostMemory(t *testing.T) {
	f := newRedisForm(t, realRedis(t))
	team := team(t, "quotas: {tokens: {day: 1000}}")
	open := f.ask(hold("open", team, Amounts{Tokens: 100})).Held
	f.charge(f.ask(hold("a", team, Amounts{Tokens: 700})).Held, team, Amounts{Tokens: 700})
	f.ask(hold("b", team, Amounts{Tokens: 1}))
	f.client.FlushDB(t.Context())
	if v := f.ask(hold("c", team, Amounts{Tokens: 400})); v.Reason != ReasonQuota || f.redis.Lost() != 1 {
		t.Errorf("700 of 1,000 were used: %+v, lost %d times", v, f.redis.Lost())
	}
	f.charge(open, team, Amounts{Tokens: 90})
	f.charge(open, team, Amounts{Tokens: 90})
	if v := f.ask(hold("d", team, Amounts{Tokens: 1})); v.Limits[0].Used != 790 {
		t.Errorf("a hold that was lost is charged once: %+v", v)
	}
	other := NewRedis(f.client) // a replica that knows less
	other.clock = f.clock.micros
	h := hold("e", team, Amounts{Tokens: 211})
	h.Lease = time.Hour
	if v, err := admitAlone(t.Context(), other, &h); err != nil || v.Reason != ReasonQuota {
		t.Errorf("another replica: %+v %v", v, err)
	}
	rows, err := f.redis.Ledger(t.Context(), "search", []int{20261121})
	if err != nil || len(rows) != 2 || rows[0].Used[Tokens] != 90 || rows[0].Model != "llm-max" ||
		rows[1].Model != "restored" || rows[1].Used[Tokens] != 700 || rows[1].Estimated[Tokens] != 700 {
		t.Errorf("the ledger has what was settled since, and what was used before as an estimate: %+v %v", rows, err)
	}
	if err := f.redis.Extend(t.Context(), open, time.Hour); err != nil {
		t.Error(err)
	}
	if n, err := f.redis.Sweep(t.Context(), "search", 10); err != nil || n != 0 {
		t.Errorf("%d holds were due, %v", n, err)
	}
}

// A143, A141: in any window no more passes than the burst and the refill, also at rates of many units a microsecond.
func TestA141A143Windows(t *testing.T) {
	for _, lines := range []string{
		"rates: {tokens: {per: 1m, limit: 40000000, burst: 1000}}", "rates: {tokens: {per: 1m, limit: 100000000, burst: 700}}",
		"rates: {tokens: {per: 1m, limit: 7, burst: 3}}", "rates: {tokens: {per: 1s, limit: 3}}",
	} {
		forms(t, func(f *form) {
			team := team(f, lines)
			rate := team.Rates[0]
			start, total := f.clock.now(), int64(0)
			for n := range 400 {
				h := hold(id(n), team, Amounts{Tokens: min(rate.Burst, 1+int64(n)%7)})
				if s := f.admit(h); s.outcome == admitted {
					total += h.Amounts[Tokens]
				} else {
					f.clock.move(max(s.wait/3, time.Microsecond))
				}
				most := rate.Burst + int64(f.clock.now().Sub(start))*rate.Limit/int64(rate.Per)
				if total > most {
					f.Fatalf("%s: %d passed in %v, the bound is %d", lines, total, f.clock.now().Sub(start), most)
				}
			}
			if most := rate.Burst + int64(f.clock.now().Sub(start))*rate.Limit/int64(rate.Per); total < most/2 {
				f.Errorf("%s: only %d passed, the bound is %d", lines, total, most)
			}
		})
	}
}
