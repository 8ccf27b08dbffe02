package limit

import (
	"cmp"
	"context"

	"sluice/policy"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Correction changes a team's use of a unit on a day and in its month, and the ledger. It also changes the use of all teams together,
// and of the account at the service, if that was ever counted.
type Correction struct {
	ID      string // Redis makes a correction once per ID
	Team    string
	Unit    unit.Name
	Delta   int64  // below 0 gives back
	Day     int    // yyyymmdd in UTC, which the ledger keeps; 0: today, on all accounts unless Account names another than main
	Account string // at the service; empty: main
	Why     string // kept with it for as long as the ledger
}

// Named reports whether the correction is of one day and account in the ledger: it names a day, or an account other than main, for which
// the day is today.
func (c *Correction) Named() bool { return c.Day != 0 || accountOf(c.Account) != "" }

// Outside returns the accounts outside of the teams that the correction also changes.
func (c *Correction) Outside() [2]string {
	return [...]string{teams.HouseID, teams.AccountQuotasID(AccountName(c.Account))}
}

// AdjustedModel is the model of corrections in the ledger.
const AdjustedModel = "adjustment"

// Adjustment is the result of a correction, whether or not it was posted. The day's use is that of all accounts at the service, or
// the ledger's of one day and account if [Correction.Named].
type Adjustment struct {
	Done               bool // false: what is corrected would fall below 0, and nothing was changed
	DayBefore, Day     int64
	MonthBefore, Month int64 // 0 for a day of an earlier month, which no quota counts
}

// Adjust makes a correction. It takes back at most what the month used, because the use of earlier days may be meant; if c is
// [Correction.Named], at most what the ledger has of that day and account. ID and Why are not kept: memory loses no reply.
func (m *Memory) Adjust(_ context.Context, c Correction) (Adjustment, error) {
	done := m.teams.Get(c.Team).adjust(&c, nil)
	for _, id := range c.Outside() {
		if of := m.teams.Known(id); of != nil && done.Done {
			of.adjust(&c, &done)
		}
	}
	return done, nil
}

// adjust makes a correction of one account. An account outside of the teams follows the team's adjustment, whatever its own use is:
// its day changes by as much as the team's day, because the rest of today's use is other teams'.
func (a *account) adjust(c *Correction, team *Adjustment) (done Adjustment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	date, u := a.date.at(a.time()), unit.Index(c.Unit)
	day := cmp.Or(c.Day, date.Day)
	of := a.books[ScopeTeam].tally(day, "", false)
	running := day/100 == date.Month
	done.DayBefore = of.used[u]
	if c.Named() {
		done.DayBefore = a.ledger.usedOn(day, accountOf(c.Account))[u]
	}
	if running {
		done.MonthBefore = of.month.used[u]
	}
	done.Day, done.Month = done.DayBefore, done.MonthBefore
	least := done.MonthBefore
	if c.Named() {
		least = done.DayBefore
	}
	if least+c.Delta < 0 && team == nil {
		return done
	}
	changes := [2]int64{c.Delta, c.Delta}
	if team != nil {
		changes[0] = team.Day - team.DayBefore
	}
	for period, in := range [...]*tally{of, of.month} {
		in.used[u] = max(in.used[u]+changes[period], 0)
	}
	done.Done, done.Day = true, max(done.DayBefore+c.Delta, 0)
	if running {
		done.Month = of.month.used[u]
	}
	var change Amounts
	change[u] = c.Delta
	a.ledger.post(day, rowName{AdjustedModel, policy.EndpointOther, accountOf(c.Account)}, change, Amounts{}, "")
	return done
}

// usedOn is what was used on a day on an account at the service.
func (l ledger) usedOn(day int, account string) (sum Amounts) {
	if on := l[day]; on != nil {
		for of, row := range on.rows {
			if of.account == account {
				sum = sum.Plus(row.Used)
			}
		}
	}
	return sum
}

// Open returns how many holds of a team are open: its requests in flight and its tasks that are not settled.
func (m *Memory) Open(_ context.Context, team string) (int, error) {
	return m.teams.Get(team).openHolds().Count, nil
}
