package limit

import (
	"context"

	"sluice/policy"
	"sluice/policy/teams"
)

// Adjusted are the accounts outside of the teams that a correction of a team's use corrects, too: its row in the ledger is main's.
var Adjusted = [...]string{teams.HouseID, teams.AccountQuotasID(teams.MainAccount)}

// AdjustedModel is the model of corrections in the ledger.
const AdjustedModel = "adjustment"

// Adjustment is the result of a correction, whether or not it was posted.
type Adjustment struct {
	Done               bool // false: the month would fall below 0, and nothing was changed
	DayBefore, Day     int64
	MonthBefore, Month int64
}

// Adjust corrects what a team used in the running day and month, and the ledger, by delta, which may be below 0; and what all teams used
// together or on the account main, if that was ever counted. id and why are not kept: memory loses no reply.
func (m *Memory) Adjust(_ context.Context, _, team string, unit teams.Unit, delta int64, _ string) (Adjustment, error) {
	done := m.teams.Get(team).adjust(UnitIndex(unit), delta)
	for _, id := range Adjusted {
		if of := m.teams.Known(id); of != nil && done.Done {
			of.adjust(UnitIndex(unit), delta)
		}
	}
	return done, nil
}

func (a *account) adjust(unit int, delta int64) Adjustment {
	a.mu.Lock()
	defer a.mu.Unlock()
	date := a.date.at(a.time())
	of := a.books[ScopeTeam].tallies(date.Day, "")
	day, month := of[0], of[1]
	done := Adjustment{DayBefore: day.used[unit], Day: day.used[unit], MonthBefore: month.used[unit], Month: month.used[unit]}
	if done.Month+delta < 0 {
		return done
	}
	done.Done, done.Day, done.Month = true, max(done.Day+delta, 0), done.Month+delta
	day.used[unit], month.used[unit] = done.Day, done.Month
	var change Amounts
	change[unit] = delta
	a.ledger.post(date.Day, rowName{model: AdjustedModel, endpoint: policy.EndpointOther}, change, Amounts{}, "")
	return done
}

// Open returns how many holds of a team are open: its requests in flight and its tasks that are not settled.
func (m *Memory) Open(_ context.Context, team string) (int, error) {
	return m.teams.Get(team).openHolds().Count, nil
}
