package redisstore

import (
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

// A request's holds in its team and in the house have one id. Both are settled by batch.lua, which takes sums, and not one by
// settle.lua, which looks at each. One that comes twice is still charged once.
func TestTheHouseIsSettledInABatch(t *testing.T) {
	client := limittest.RealRedis(t)
	r, team := New(client), limittest.Team(t, "quotas: {tokens: {day: 100}}")
	house := &teams.Team{ID: teams.HouseID, Quotas: team.Quotas}
	used := limit.Amounts{limit.Requests: 1, limit.Tokens: 7}
	var charges []*limit.Charge
	for _, of := range []*teams.Team{team, house} {
		for _, id := range []string{"a", "b"} {
			h := hold(id, of, used)
			h.Lease = time.Hour
			v, err := admitAlone(t.Context(), r, &h)
			if err != nil || v.Held == nil {
				t.Fatal(v, err)
			}
			charges = append(charges, &limit.Charge{Held: v.Held, Team: of, Amounts: used})
		}
	}
	for _, g := range groupsOf(charges, make([]Result, len(charges)), r.today.at(r.Now()).before) {
		if g.script != batchScript || len(g.charges) != 2 {
			t.Errorf("%d charges of %s are not for batch.lua", len(g.charges), g.charges[0].Held.Team)
		}
	}
	twice := append(charges, &limit.Charge{Held: charges[2].Held, Team: house, Amounts: used})
	done := 0
	for i, came := range r.SettleAll(t.Context(), twice, true) {
		if done += flag(came.Done); came.Err != nil {
			t.Errorf("charge %d: %v", i, came.Err)
		}
	}
	if done != 4 {
		t.Errorf("%d charges were made, want 4", done)
	}
	for _, of := range []*teams.Team{team, house} {
		if s, err := r.Look(t.Context(), of); err != nil || s.Used[2*limit.Tokens] != 14 {
			t.Errorf("%s used %d, %v", of.ID, s.Used[2*limit.Tokens], err)
		}
	}
}
