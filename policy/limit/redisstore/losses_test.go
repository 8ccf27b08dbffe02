package redisstore

import (
	"context"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// A refusal by the account takes nothing from the team's buckets.
func TestAccountRefusalTakesNothing(t *testing.T) {
	for _, f := range []*form{newMemoryForm(t), newRedisForm(t, limittest.RealRedis(t))} {
		team := limittest.Team(t, "rates: {requests: {per: 1m, limit: 10}}")
		acc := limit.OutsideFor(&teams.File{Account: []teams.AccountLimit{{Rates: []teams.Rate{{Unit: unit.NameRequests, Limit: 1, Burst: 1, Per: time.Minute, PerText: "1m"}}}}}, "")
		for n := range 5 {
			h := hold(id(n), team, limit.Amounts{limit.Requests: 1})
			h.Outside, h.Lease = acc, time.Hour
			if _, err := f.verdict(t.Context(), &h); err != nil {
				t.Fatal(err)
			}
		}
		if s := f.look(team); s.Rates[limit.Requests].Left != 9 {
			t.Errorf("%s: %d left, want 9: account refusals took from the team's bucket", f.name, s.Rates[limit.Requests].Left)
		}
	}
}

// Sums that cannot be counted exactly stay numbers.
func TestHugeHolds(t *testing.T) {
	f := newRedisForm(t, limittest.RealRedis(t))
	free := &teams.Team{ID: "search"}
	for n := range 12 {
		f.admit(hold(id(n), free, limit.Amounts{limit.Requests: 1, limit.Tokens: unit.Most}))
	}
	for n := range 12 {
		if _, err := f.trySettle(f.held(hold(id(n), free, limit.Amounts{limit.Requests: 1, limit.Tokens: unit.Most})), free, limit.Amounts{limit.Requests: 1, limit.Tokens: 5}, false); err != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// A task whose hold was lost is charged once, however late its end is reported again.
func TestATaskWhoseHoldIsLost(t *testing.T) {
	server, client := limittest.AgedRedis(t)
	f := newRedisForm(t, client)
	team := limittest.Team(t)
	h := f.held(limit.Hold{ID: "t", Team: team, Model: "m", Endpoint: policy.EndpointImage, Amounts: limit.Amounts{limit.Requests: 1, limit.Images: 4}, Task: true})
	c := &limit.Charge{Held: h, Team: team, Amounts: limit.Amounts{limit.Requests: 1, limit.Images: 4}}
	_, _ = f.redis.Settle(context.Background(), c)
	server.FastForward(16 * time.Minute)
	_, _ = f.redis.Settle(context.Background(), c)
	if s := f.look(team); s.Used[2*limit.Images] != 4 {
		t.Errorf("%d images", s.Used[2*limit.Images])
	}
}

// What a process charged before the team had accounts is in the accounts that another created meanwhile. It restores none of that.
func TestARestoreAddsNothingChargedBeforeThereWereAccounts(t *testing.T) {
	f := newRedisForm(t, limittest.RealRedis(t))
	team := limittest.Team(t)
	used := limit.Amounts{limit.Requests: 1, limit.Tokens: 10}
	h := f.held(limit.Hold{ID: "early", Team: team, Model: "m", Endpoint: policy.EndpointText, Amounts: used})
	if _, err := f.redis.Settle(t.Context(), &limit.Charge{Held: h, Team: team, Amounts: used}); err != nil {
		t.Fatal(err)
	}
	other := New(f.client)
	other.Clock, other.Now = f.clock.Micros, f.clock.Wrong
	for _, r := range []*Store{other, f.redis} {
		if err := r.Restore(t.Context(), team.ID, Loss{}); err != nil {
			t.Fatal(err)
		}
	}
	if s := f.look(team); s.Used[2*limit.Tokens] != 10 {
		t.Errorf("%d tokens were used, want 10", s.Used[2*limit.Tokens])
	}
}
