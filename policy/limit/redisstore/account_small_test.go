package redisstore

import (
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// An extension that names less than a hold has gives the rest back, to quotas and rates, however often it is sent. One that names more
// changes nothing.
func TestAnExtensionGivesBackWhatIsHeldNoLonger(t *testing.T) {
	f := newRedisForm(t, limittest.RealRedis(t))
	team := limittest.Team(f, "rates: {tokens: {per: 1h, limit: 1000}}\n    quotas: {tokens: {day: 100}}")
	h := hold("a", team, limit.Amounts{limit.Requests: 1, limit.Tokens: 20})
	f.admit(h)
	for _, tokens := range []int64{2, 2, 20} {
		held := f.held(h)
		held.Amounts[limit.Tokens] = tokens
		f.extend(held, 2*time.Hour)
		if s := f.look(team); s.Held[2*limit.Tokens] != 2 || s.Rates[limit.Tokens].Left != 998 {
			t.Errorf("after %d: %d tokens are held, and %d left, want 2 and 998", tokens, s.Held[2*limit.Tokens], s.Rates[limit.Tokens].Left)
		}
	}
	f.clock.Move(3 * time.Hour)
	f.sweep(team.ID)
	if s := f.look(team); s.Used[2*limit.Tokens] != 2 || s.Held[2*limit.Tokens] != 0 {
		t.Errorf("%d tokens are used, %d held, want 2 and 0", s.Used[2*limit.Tokens], s.Held[2*limit.Tokens])
	}
}

// What was restored, or charged for a lost replica's allowance, has no account: it is not counted in main's quota.
func TestMainIsNotSeededWithWhatHasNoAccount(t *testing.T) {
	f := newRedisForm(t, limittest.RealRedis(t))
	team, used := limittest.Team(f), limit.Amounts{limit.Requests: 1, limit.Images: 5}
	if err := f.redis.List(t.Context(), team.ID); err != nil {
		t.Fatal(err)
	}
	h := hold("a", team, used)
	f.admit(h)
	f.settle(f.held(h), team, used, false)
	ledger := keysOf(team.ID).day(f.held(h).Day)
	for _, name := range []string{"restored|other|images", "allowance|other|images"} {
		if err := f.client.HSet(t.Context(), ledger, name, 7).Err(); err != nil {
			t.Fatal(err)
		}
	}
	date := limit.CalendarOf(f.clock.Now())
	got, err := takenAt(t.Context(), f.redis, teams.MainAccount, &date)
	if err != nil || got[2*limit.Images] != 5 {
		t.Errorf("%d images were used on main, want 5 (%v)", got[2*limit.Images], err)
	}
}
