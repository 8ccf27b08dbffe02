package redisstore

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// settler has the methods that both forms promise the gateway.
type settler interface {
	Settle(ctx context.Context, c *limit.Charge) (bool, error)
	Extend(ctx context.Context, h *limit.Held, lease time.Duration) error
	Sweep(ctx context.Context, team string, most int) (int, error)
}

func (f *form) accounts() settler {
	if f.memory != nil {
		return f.memory
	}
	return f.redis
}

// verdict admits a hold as the gateway does.
func (f *form) verdict(ctx context.Context, h *limit.Hold) (limit.Verdict, error) {
	if f.memory != nil {
		return f.memory.Admit(ctx, h)
	}
	return admitAlone(ctx, f.redis, h)
}

// admitAlone admits a hold in Redis, without an allowance.
func admitAlone(ctx context.Context, r *Store, h *limit.Hold) (limit.Verdict, error) {
	t := limit.TermsOf(h.Team)
	if v, never := h.NeverFits(&t); never {
		return v, nil
	}
	v, _, err := r.Place(ctx, h, &Loan{})
	return v, err
}

func (f *form) ask(h limit.Hold) limit.Verdict {
	f.Helper()
	h.Lease = time.Hour
	v, err := f.verdict(f.Context(), &h)
	if err != nil {
		f.Fatal(err)
	}
	return v
}

func (f *form) charge(h *limit.Held, team *teams.Team, used limit.Amounts) {
	f.Helper()
	if _, err := f.accounts().Settle(f.Context(), &limit.Charge{Held: h, Team: team, Amounts: used}); err != nil {
		f.Fatal(err)
	}
}

// A verdict names every limit in which the request was charged, and the one that refuses.
func TestVerdict(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "rates: {requests: {per: 1m, limit: 600, burst: 60}, tokens: {per: 1m, limit: 200000}}",
			"quotas: {images: {day: 500}, tokens: {month: 250000}}")
		v := f.ask(hold("a", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 1000}))
		if v.Held == nil || v.Reason != limit.ReasonNone || v.Held.Day != 20261121 || v.Held.Month != 202611 {
			f.Fatalf("%+v", v)
		}
		want := []limit.Standing{
			{Unit: "requests", Per: "1m", Limit: 600, Window: time.Minute, Left: 59, Reset: 100 * time.Millisecond},
			{Unit: "tokens", Per: "1m", Limit: 200000, Window: time.Minute, Left: 199000, Reset: 300 * time.Millisecond},
			{Unit: "tokens", Period: "month", Per: "month", Limit: 250000, Window: 30 * 24 * time.Hour, Held: 1000, Left: 249000,
				Reset: (9*24 + 12) * time.Hour},
		}
		if got := v.Limits; !slices.Equal(got, want) {
			f.Errorf("charged in\n%+v, want\n%+v", got, want)
		}
		v = f.ask(hold("b", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 199001}))
		if v.Held != nil || v.Reason != limit.ReasonRate || v.Fault.Name() != "tokens" || v.Wait != 300*time.Microsecond || v.Asked != 199001 {
			f.Errorf("one token too many: %+v", v)
		}
		f.charge(f.ask(hold("c", team, limit.Amounts{limit.Tokens: 1})).Held, team, limit.Amounts{limit.Tokens: 400000})
		f.clock.Move(10 * time.Minute)
		v = f.ask(hold("d", team, limit.Amounts{limit.Tokens: 1}))
		if v.Reason != limit.ReasonQuota || v.Fault.Name() != "tokens-month" || v.Fault.Left != 0 || v.Fault.Used != 400000 ||
			v.Limits[1].Reset != v.Wait {
			f.Errorf("the month is overdrawn: %+v", v)
		}
	})
}

// A request whose exact cost can never fit is refused for good immediately; an estimate, or a team in shadow mode, never is.
func TestNever(t *testing.T) {
	forms(t, func(f *form) {
		limits := []string{"rates: {images: {per: 1m, limit: 60, burst: 3}, tokens: {per: 1m, limit: 5}}",
			"quotas: {spend: {day: 1.00}, images: {month: 2}}"}
		strict := limittest.Team(f, limits...)
		for _, tt := range []struct {
			amounts limit.Amounts
			text    int64 // of the spend
			want    limit.Reason
			limit   string
		}{
			{limit.Amounts{limit.Images: 4}, 0, limit.ReasonNever, "images"},
			{limit.Amounts{limit.Images: 3}, 0, limit.ReasonNever, "images-month"},
			{limit.Amounts{limit.Images: 1, limit.Spend: 1_000_000_001}, 0, limit.ReasonNever, "spend-day"},
			{limit.Amounts{limit.Images: 1, limit.Spend: 1_000_000_001}, 1, limit.ReasonQuota, "spend-day"},
			{limit.Amounts{limit.Tokens: 6}, 0, limit.ReasonRate, "tokens"},
			{limit.Amounts{limit.Tokens: 1, limit.Spend: 1_000_000_001}, 0, limit.ReasonQuota, "spend-day"},
		} {
			h := hold("x", strict, tt.amounts)
			h.Text = tt.text
			if v := f.ask(h); v.Reason != tt.want || v.Fault.Name() != tt.limit || v.Held != nil {
				f.Errorf("%v: %+v", tt.amounts, v)
			} else if says := v.Explain(&h); tt.limit == "images" &&
				says != "The request asks for 4 and can never fit: team search is allowed 3 of images at once." {
				f.Error(says)
			}
		}
		shadow := limittest.Team(f, append(limits, "shadow: true")...)
		if v := f.ask(hold("y", shadow, limit.Amounts{limit.Images: 4})); v.Held == nil || v.Reason == limit.ReasonNone {
			f.Errorf("in shadow mode: %+v", v)
		}
	})
}

// The account's rates are shared by all teams; a request that they refuse takes nothing from its team.
func TestAccount(t *testing.T) {
	forms(t, func(f *form) {
		file, err := teams.Parse([]byte("teams:\n  - {id: search}\n  - {id: shop}\naccount:\n" +
			"  - {models: [\"gen*\"], requests: {per: 1s, limit: 2}, tokens: {per: 1s, limit: 100}}\n  - {models: [\"other\"], requests: {per: " +
			"1h, limit: 1}}\n"))
		if err != nil {
			f.Fatal(err)
		}
		ask := func(id, team string) limit.Verdict {
			h := hold(id, file.Team(team), limit.Amounts{limit.Requests: 1, limit.Tokens: 40})
			h.Outside = limit.OutsideFor(&teams.File{Account: file.Account}, "gen2.6-image")
			return f.ask(h)
		}
		a, b := ask("a", "search"), ask("b", "shop")
		if a.Held == nil || b.Held == nil {
			f.Fatal("the account has room for two")
		}
		before := f.look(file.Team("search"))
		v := ask("c", "search")
		if v.Held != nil || v.Reason != limit.ReasonAccount || v.Fault.Unit != unit.NameRequests || v.Wait != 500*time.Millisecond {
			f.Errorf("a third: %+v", v)
		}
		if after := f.look(file.Team("search")); after.Held != before.Held || after.Used != before.Used {
			f.Errorf("the team was charged for a request that the account refused: %+v", after)
		}
		f.charge(a.Held, file.Team("search"), limit.Amounts{limit.Requests: 1, limit.Tokens: 130})
		f.clock.Move(500 * time.Millisecond)
		if v := ask("d", "shop"); v.Reason != limit.ReasonAccount || v.Fault.Unit != unit.NameTokens || v.Wait != 300*time.Millisecond {
			f.Errorf("the tokens that were used beyond the hold count: %+v", v)
		}
		f.charge(b.Held, file.Team("shop"), limit.Amounts{limit.Requests: 1, limit.Tokens: 10})
		if v := ask("e", "shop"); v.Reason != limit.ReasonAccount || v.Wait != 150*time.Millisecond { // a hold is a quarter of the bucket at most
			f.Errorf("the tokens that were held and not used are not given back: %+v", v)
		}
	})
}

// Shadow mode is the team's: the account's rates, which all share, still refuse.
func TestShadowSparesNotTheAccount(t *testing.T) {
	forms(t, func(f *form) {
		h := hold("a", limittest.Team(f, "shadow: true", "rates: {requests: {per: 1m, limit: 10}}"), limit.Amounts{limit.Requests: 1})
		h.Outside = limit.OutsideFor(&teams.File{Account: []teams.AccountLimit{
			{Rates: []teams.Rate{{Unit: unit.NameRequests, Limit: 1, Burst: 1, Per: time.Minute, PerText: "1m"}}}}}, "")
		f.ask(h)
		h.ID = "b"
		if v := f.ask(h); v.Held != nil || v.Reason != limit.ReasonAccount || v.Limits[0].Left != 9 {
			f.Errorf("%+v", v)
		}
	})
}

// Concurrent requests are admitted up to the limit, and none beyond it.
func TestAllAtOnce(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "rates: {tokens: {per: 1h, limit: 100000}}", "quotas: {tokens: {day: 1000}}")
		var passed atomic.Int64
		start := make(chan struct{})
		var all sync.WaitGroup
		for w := range 64 {
			all.Go(func() {
				<-start
				for n := range 20 {
					h := hold(id(w*20+n), team, limit.Amounts{limit.Tokens: 10})
					h.Lease = time.Hour
					v, err := f.verdict(context.Background(), &h)
					if err != nil {
						f.Error(err)
						return
					}
					if v.Held != nil {
						passed.Add(1)
						if _, err := f.accounts().Settle(context.Background(), &limit.Charge{Held: v.Held, Team: team, Amounts: h.Amounts}); err != nil {
							f.Error(err)
						}
					}
				}
			})
		}
		close(start)
		all.Wait()
		s := f.look(team)
		if passed.Load() != 100 || s.Used[2*limit.Tokens] != 1000 || s.Held[2*limit.Tokens] != 0 {
			f.Errorf("%d of 100 passed, %d tokens used, %d held", passed.Load(), s.Used[2*limit.Tokens], s.Held[2*limit.Tokens])
		}
	})
}

// Redis loses its memory. This process's data is restored before anything is admitted, and its later settlements are
// charged although the holds are lost.
func TestLostMemory(t *testing.T) {
	f := newRedisForm(t, limittest.RealRedis(t))
	team := limittest.Team(t, "quotas: {tokens: {day: 1000}}")
	open := f.ask(hold("open", team, limit.Amounts{limit.Tokens: 100})).Held
	f.charge(f.ask(hold("a", team, limit.Amounts{limit.Tokens: 700})).Held, team, limit.Amounts{limit.Tokens: 700})
	f.ask(hold("b", team, limit.Amounts{limit.Tokens: 1}))
	f.client.FlushDB(t.Context())
	if v := f.ask(hold("c", team, limit.Amounts{limit.Tokens: 400})); v.Reason != limit.ReasonQuota ||
		f.redis.teams.Get("search").restored.IsZero() {
		t.Errorf("700 of 1,000 were used: %+v", v)
	}
	f.charge(open, team, limit.Amounts{limit.Tokens: 90})
	f.charge(open, team, limit.Amounts{limit.Tokens: 90})
	if v := f.ask(hold("d", team, limit.Amounts{limit.Tokens: 1})); v.Limits[0].Used != 790 {
		t.Errorf("a hold that was lost is charged once: %+v", v)
	}
	other := New(f.client) // a replica that knows less
	other.Clock = f.clock.Micros
	h := hold("e", team, limit.Amounts{limit.Tokens: 211})
	h.Lease = time.Hour
	if v, err := admitAlone(t.Context(), other, &h); err != nil || v.Reason != limit.ReasonQuota {
		t.Errorf("another replica: %+v %v", v, err)
	}
	rows, err := f.redis.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: []int{20261121}})
	if err != nil || len(rows) != 2 || rows[0].Used[limit.Tokens] != 90 || rows[0].Model != "llm-max" ||
		rows[1].Model != "restored" || rows[1].Used[limit.Tokens] != 700 || rows[1].Estimated[limit.Tokens] != 700 {
		t.Errorf("the ledger has what was settled since, and what was used before as an estimate: %+v %v", rows, err)
	}
	if err := f.redis.Extend(t.Context(), open, time.Hour); err != nil {
		t.Error(err)
	}
	if n, err := f.redis.Sweep(t.Context(), "search", 10); err != nil || n != 0 {
		t.Errorf("%d holds were due, %v", n, err)
	}
}

// No window admits more than the burst and the refill, also at rates of many units a microsecond.
func TestNoWindowPassesBurstAndRefill(t *testing.T) {
	for _, lines := range []string{
		"rates: {tokens: {per: 1m, limit: 40000000, burst: 1000}}", "rates: {tokens: {per: 1m, limit: 100000000, burst: 700}}",
		"rates: {tokens: {per: 1m, limit: 7, burst: 3}}", "rates: {tokens: {per: 1s, limit: 3}}",
	} {
		forms(t, func(f *form) {
			team := limittest.Team(f, lines)
			rate := team.Rates[0]
			start, total := f.clock.Now(), int64(0)
			for n := range 400 {
				h := hold(id(n), team, limit.Amounts{limit.Tokens: min(rate.Burst, 1+int64(n)%7)})
				if s := f.admit(h); s.Outcome == limit.Admitted {
					total += h.Amounts[limit.Tokens]
				} else {
					f.clock.Move(max(s.Wait/3, time.Microsecond))
				}
				most := rate.Burst + int64(f.clock.Now().Sub(start))*rate.Limit/int64(rate.Per)
				if total > most {
					f.Fatalf("%s: %d passed in %v, the bound is %d", lines, total, f.clock.Now().Sub(start), most)
				}
			}
			if most := rate.Burst + int64(f.clock.Now().Sub(start))*rate.Limit/int64(rate.Per); total < most/2 {
				f.Errorf("%s: only %d passed, the bound is %d", lines, total, most)
			}
		})
	}
}
