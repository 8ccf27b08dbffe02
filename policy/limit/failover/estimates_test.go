package failover

import (
	"testing"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// tokensOf are the tokens of the house's month, used and held, and those of a team in the ledger.
func (e *estate) tokensOf(team string) (used, held, ledger int64) {
	e.Helper()
	report, err := e.Look(e.Context(), e.House.Account)
	if err != nil || len(report.Limits) != 1 {
		e.Fatalf("%+v, %v", report, err)
	}
	rows, err := e.Rows(e.Context(), limit.Query{Days: []int{limit.CalendarOf(e.clock.Now()).Day}, Teams: []string{team}})
	if err != nil || len(rows) > 1 {
		e.Fatalf("%+v, %v", rows, err)
	}
	for _, row := range rows {
		ledger = row.Used[limit.Tokens]
	}
	return report.Limits[0].Used, report.Limits[0].Held, ledger
}

// An estimate is cut to the house's quota in its team, too: when its lease ends the team is charged what the house is, and a house that
// comes back, or another replica that starts, adds nothing.
func TestATeamHoldsNoMoreThanTheHouse(t *testing.T) {
	estates(t, "house: {quotas: {tokens: {month: 4000}}}\nteams: [{id: search}, {id: shop}]\n", func(e *estate) {
		h := e.hold(e.File, "search", limit.Amounts{limit.Requests: 1, limit.Tokens: 1 << 40})
		v := e.try(h)
		if v.Held == nil || v.Held.Amounts[limit.Tokens] != 1000 || h.Amounts[limit.Tokens] != 1<<40 {
			e.Fatalf("%+v", v)
		}
		if used, held, _ := e.tokensOf("search"); used != 0 || held != 1000 {
			e.Errorf("the house used %d and holds %d", used, held)
		}
		e.clock.Move(2 * time.Hour)
		e.sweep("search")
		e.sweep(teams.HouseID)
		if used, held, ledger := e.tokensOf("search"); used != 1000 || held != 0 || ledger != 1000 {
			e.Errorf("the lease has ended: the house used %d and holds %d, the ledger has %d", used, held, ledger)
		}
		bare := e.try(e.hold(without(e.File), "shop", limit.Amounts{limit.Requests: 1, limit.Tokens: 10})) // the house is removed for a while
		e.charge(bare.Held, 0)
		e.try(e.hold(e.File, "shop", limit.Amounts{limit.Requests: 1, limit.Tokens: 10}))
		if used, held, _ := e.tokensOf("search"); used != 1000 || held != 10 {
			e.Errorf("the house is back: it used %d and holds %d", used, held)
		}
	})
}
