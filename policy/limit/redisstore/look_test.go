package redisstore

import (
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
)

func TestLook(t *testing.T) {
	forms(t, func(f *form) {
		team := limittest.Team(f, "rates: {tokens: {per: 1m, limit: 600, burst: 100}}", "quotas: {spend: {month: 2.50}}", "open_tasks: 3")
		h := hold("a", team, limit.Amounts{limit.Tokens: 30, limit.Spend: 500_000_000})
		h.Task = true
		f.ask(h)
		look := func() limit.Report {
			var r limit.Report
			var err error
			if f.memory != nil {
				r, err = f.memory.Look(f.Context(), team)
			} else {
				var s limit.State
				s, err = f.redis.Look(f.Context(), team)
				t := limit.TermsOf(team)
				r = s.Report(&t)
			}
			if err != nil {
				f.Fatal(err)
			}
			return r
		}
		first, again := look(), look()
		if first.Tasks != 1 || len(first.Limits) != 2 || len(again.Limits) != 2 || first.Limits[0] != again.Limits[0] {
			f.Fatalf("%+v, then %+v", first, again)
		}
		if got, want := first.Limits[0], (limit.Standing{Unit: teams.UnitTokens, Per: "1m", Limit: 600, Window: time.Minute, Used: 30, Left: 70, Reset: 3 * time.Second}); got != want {
			f.Errorf("the rate: %+v, want %+v", got, want)
		}
		if got := first.Limits[1]; got.Held != 500_000_000 || got.Used != 0 || got.Left != 2_000_000_000 || !first.At.Add(got.Reset).Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) {
			f.Errorf("the quota: %+v", got)
		}
	})
}
