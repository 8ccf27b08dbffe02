package redisstore

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/price"
)

// Three replicas admit, settle in batches, repeat settlements, and let holds expire, in any order: each row has the kinds of the bills
// that were settled, each once, and together with what expired its whole use.
func TestReplicasAddUpKinds(t *testing.T) {
	client := limittest.RealRedis(t)
	team := limittest.Team(t)
	rapid.Check(t, func(rt *rapid.T) {
		client.FlushDB(t.Context())
		first := newRedisForm(t, client)
		replicas := []*form{first, newRedisForm(t, client), newRedisForm(t, client)}
		for _, f := range replicas {
			f.clock = first.clock
			f.redis.Clock, f.redis.Now = f.clock.Micros, f.clock.Now
		}
		one := rapid.SampledFrom(replicas)
		var open []*limit.Held
		var charges []*limit.Charge
		want, spent := map[string]kindUse{}, map[string]int64{} // by row and kind, and by row
		expired := map[string]int64{}                           // by hold
		for n := range rapid.IntRange(1, 30).Draw(rt, "steps") {
			f := one.Draw(rt, "replica")
			switch rapid.IntRange(0, 5).Draw(rt, "do") {
			case 0, 1:
				h := hold(fmt.Sprint("h", n), team, limit.Amounts{limit.Requests: 1, limit.Tokens: 70, limit.Spend: 7})
				h.Model, h.Task = rapid.SampledFrom([]string{"a", "b|c"}).Draw(rt, "model"), rapid.Bool().Draw(rt, "task")
				open = append(open, f.held(h))
				f.admit(h)
			case 2, 3:
				charges = nil
				for range rapid.IntRange(0, len(open)).Draw(rt, "batch") {
					s := step{Team: n, Lease: n, Amounts: limit.Amounts{1, rapid.Int64Range(0, 99).Draw(rt, "tokens"),
						rapid.Int64Range(0, 3).Draw(rt, "images"), 0}}
					bill := s.bill()
					charges = append(charges, &limit.Charge{Held: open[0], Team: team, Amounts: s.Amounts, Bill: &bill})
					name := rowOf(open[0].Day, open[0].Model)
					for l := range bill.Lines() {
						of := name + " " + l.Kind.String() + l.Size
						sum := want[of]
						want[of] = kindUse{quantity: sum.quantity + l.Quantity, amount: sum.amount + l.Amount}
					}
					spent[name] += bill.Total() - expired[open[0].ID]
					open = open[1:]
				}
				for range 1 + n%2 { // the first reply may be lost
					for _, result := range one.Draw(rt, "settles").redis.SettleAll(t.Context(), charges, true) {
						if result.Err != nil {
							rt.Fatal(result.Err)
						}
					}
				}
			case 4:
				f.clock.Move(2 * time.Hour)
				f.sweep("search")
				for _, h := range open {
					if expired[h.ID] == 0 {
						expired[h.ID] = h.Amounts[limit.Spend]
						spent[rowOf(h.Day, h.Model)] += h.Amounts[limit.Spend]
					}
				}
			case 5:
				f.look(team)
			}
		}
		compareReplicas(rt, first, want, spent)
	})
}

func rowOf(day int, model string) string { return fmt.Sprint(day, " ", model) }

func compareReplicas(rt *rapid.T, f *form, want map[string]kindUse, spent map[string]int64) {
	got := map[string]kindUse{}
	for _, row := range f.rows() {
		name, sum := rowOf(row.Day, row.Model), int64(0)
		for _, p := range row.Parts() {
			if sum += p.Used[limit.Spend]; p.Kind != price.Unknown {
				got[name+" "+p.Kind.String()+p.Size] = kindUse{quantity: p.Used[limit.Tokens] + p.Used[limit.Images], amount: p.Used[limit.Spend]}
			}
		}
		if sum != spent[name] || row.Used[limit.Spend] != sum {
			rt.Fatalf("%s spent %d, its kinds %d, want %d", name, row.Used[limit.Spend], sum, spent[name])
		}
	}
	if !maps.Equal(got, want) {
		rt.Fatalf("%v\nwant %v", got, want)
	}
}
