package failover

import (
	"context"
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/limit/redisstore"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

const texts = `
house: {quotas: {tokens: {day: 400}}}
teams:
  - id: search
    quotas: {tokens: {day: 100}}
    rates: {tokens: {per: 1h, limit: 1000}}
    keys:
      - id: aaaaaaaaaaaa
        sha256: "0000000000000000000000000000000000000000000000000000000000000001"
        quotas: {tokens: {day: 90}}
        rates: {tokens: {per: 1h, limit: 500}}
`

// counting is an account with a quota of tokens a day; 0: none.
func counting(id string, tokens int64) *teams.Account {
	a := &teams.Account{ID: id}
	if tokens > 0 {
		a.Quotas = &teams.Team{ID: teams.AccountQuotasID(id), Quotas: []teams.Quota{
			{Unit: unit.NameTokens, Period: teams.PeriodDay, Limit: tokens}}}
	}
	return a
}

// text is an estimated request with a key, on an account.
func (b *branches) text(on *teams.Account, tokens int64) *limit.Hold {
	h := b.hold(b.File, "search", limit.Amounts{limit.Requests: 1, limit.Tokens: tokens})
	h.Key, h.Account, h.Outside = "aaaaaaaaaaaa", on.ID, b.outsides.For(b.File, on, h.Model)
	return h
}

// tokens compares what the quota of a team, of the house or of an account used and holds, and what is left of its rate; -1: it has none.
func (b *branches) tokens(about string, of *teams.Team, used, held, left int64) {
	b.Helper()
	r, err := b.Look(b.Context(), of)
	if err != nil {
		b.Fatal(err)
	}
	got := [3]int64{0, 0, -1}
	for _, s := range r.Limits {
		if s.Period != "" {
			got[0], got[1] = s.Used, s.Held
		} else {
			got[2] = s.Left
		}
	}
	if want := [3]int64{used, held, left}; got != want {
		b.Errorf("%s: %s used and holds, and has left, %v, want %v", about, of.ID, got, want)
	}
}

// key compares what the quota of the team's key used and holds, and what is left of its rate.
func (b *branches) key(about string, used, held, left int64) {
	b.Helper()
	list, err := b.housed.(interface {
		LookInside(ctx context.Context, team *teams.Team, k limit.ScopeKind, at time.Time) ([]limit.Standing, error)
	}).LookInside(b.Context(), b.Team("search"), limit.ScopeKey, b.clock.Now())
	got := [3]int64{}
	for _, s := range list {
		if s.Period != "" {
			got[0], got[1] = s.Used, s.Held
		} else {
			got[2] = s.Left
		}
	}
	if want := [3]int64{used, held, left}; err != nil || got != want {
		b.Errorf("%s: the key used and holds, and has left, %v, want %v (%v)", about, got, want, err)
	}
}

// A request that moves to an account with a smaller quota holds as little everywhere as there. So if its outcome stays unknown, the team,
// the house and the ledger are charged with what the account is charged with. What it used is charged exactly.
func TestAHoldThatMovesIsAsSmallEverywhere(t *testing.T) {
	for about, tt := range map[string]struct {
		end            func(b *branches, h *limit.Held)
		charged, rated int64
	}{
		"its lease ends": {func(b *branches, _ *limit.Held) {
			b.clock.Move(2 * time.Hour)
			for _, id := range []string{"search", teams.HouseID, teams.AccountQuotasID("us")} {
				b.sweep(id)
			}
		}, 2, 0}, // the rates are full again
		"it used more":    {func(b *branches, h *limit.Held) { b.spend(h, 7) }, 7, 7},
		"it used nothing": {func(b *branches, h *limit.Held) { b.spend(h, 0) }, 0, 0},
	} {
		t.Run(about, func(t *testing.T) {
			estates(t, texts, func(e *estate) {
				b := branchesOf(e)
				eu, us := counting("eu", 80), counting("us", 8)
				from := b.take(b.text(eu, 30))
				b.tokens("admitted", b.Team("search"), 0, 20, 980)
				to := b.text(us, 20)
				to.ID = from.ID
				v, err := b.mover.Move(b.Context(), from, to)
				if err != nil || v.Held == nil || v.Held.Amounts[limit.Tokens] != 2 || from.Amounts[limit.Tokens] != 20 {
					b.Fatalf("%+v, %v", v, err)
				}
				b.wait()
				b.tokens("moved", eu.Quotas, 0, 0, -1)
				for range 2 {
					b.tokens("moved", us.Quotas, 0, 2, -1)
					b.tokens("moved", b.Team("search"), 0, 2, 998)
					b.tokens("moved", b.House.Account, 0, 2, -1)
					b.key("moved", 0, 2, 498)
					_ = b.Extend(b.Context(), v.Held, time.Minute) // it names the smaller hold again
					b.wait()
				}
				tt.end(b, v.Held)
				b.wait()
				b.tokens("over", us.Quotas, tt.charged, 0, -1)
				b.tokens("over", b.Team("search"), tt.charged, 0, 1000-tt.rated)
				b.tokens("over", b.House.Account, tt.charged, 0, -1)
				b.key("over", tt.charged, 0, 500-tt.rated)
				b.take(b.text(eu, 1))
				rows, err := b.Rows(b.Context(), limit.Query{Days: []int{from.Day}, By: limit.ScopeAccount})
				if err != nil || len(rows) != 1 || rows[0].Account != "us" || rows[0].Used[limit.Tokens] != tt.charged {
					b.Errorf("%+v, %v; want %d tokens on us", rows, err, tt.charged)
				}
			})
		})
	}
}

// spend settles a hold with what it used.
func (b *branches) spend(h *limit.Held, tokens int64) {
	b.Helper()
	c := &limit.Charge{Held: h, Team: b.Team(h.Team), Amounts: limit.Amounts{limit.Requests: 1, limit.Tokens: tokens}}
	if done, err := b.Settle(b.Context(), c); err != nil || !done {
		b.Errorf("settled %v, %v", done, err)
	}
}

// The same is true if the team's hold is not in Redis yet when the request moves, and of an older copy of Redis's memory, in which it has
// not moved.
func TestAHoldThatMovedStaysSmall(t *testing.T) {
	file, err := teams.Parse([]byte("teams:\n  - {id: search}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for about, without := range map[string]bool{"it is held without Redis": true, "Redis is back with an older copy": false} {
		t.Run(about, func(t *testing.T) {
			moves := func(s *harness) {
				b := branchesOf(&estate{T: s.T, housed: s.Failover, File: file, clock: s.clock, wait: s.settled, sweep: s.sweep})
				bare, us := counting("eu", 0), counting("us", 8)
				b.take(b.text(us, 0))
				s.back()
				if without {
					s.fault.mode.Store(away)
				}
				h := b.text(bare, 20)
				h.Key = ""
				from := b.take(h)
				s.fault.mode.Store(well)
				back := func() {}
				if !without {
					_ = s.Maintain(s.Context())
					back = limittest.Copy(s.T, s.client)
				}
				to := *h
				to.Account, to.Outside = us.ID, b.outsides.For(file, us, h.Model)
				v, err := b.mover.Move(b.Context(), from, &to)
				if err != nil || v.Held == nil {
					b.Fatalf("%+v, %v", v, err)
				}
				b.wait()
				s.clock.Move(time.Second)
				_ = s.Maintain(s.Context())
				back()
				s.clock.Move(time.Second)
				_ = s.Maintain(s.Context())
				s.clock.Move(2 * redisstore.RestoringTime)
				s.back()
				if st := s.look(file.Team("search")); st.Held[2*limit.Tokens] != 2 {
					b.Errorf("the team holds %d tokens, want 2", st.Held[2*limit.Tokens])
				}
				b.tokens("held", us.Quotas, 0, 2, -1)
				s.clock.Move(2 * time.Hour)
				b.sweep("search")
				b.sweep(us.Quotas.ID)
				b.tokens("over", us.Quotas, 2, 0, -1)
				if st := s.look(file.Team("search")); st.Used[2*limit.Tokens] != 2 || st.Held[2*limit.Tokens] != 0 {
					b.Errorf("the team used %d tokens and holds %d, want 2 and 0", st.Used[2*limit.Tokens], st.Held[2*limit.Tokens])
				}
			}
			if without {
				harnesses(t, nil, moves)
			} else { // only a real Redis can be copied
				moves(newHarness(t, limittest.RealRedis(t), nil))
			}
		})
	}
}
