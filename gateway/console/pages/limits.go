package pages

import (
	"time"

	"sluice/gateway/console/figures"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// limitRow is a team's standing for one limit.
type limitRow struct {
	Name, Unit, Per        string
	Rate                   bool
	Bar                    limitBar
	Used, Held, Left, Most int64 // Most is the burst of a rate
	Limit                  int64
	In                     time.Duration
	First                  bool // the unit's limit that is reached first
	UnitName               teams.Unit
	Resets                 time.Time     // zero: it is full
	Base                   int64         // Limit without the raises
	Raises                 []teams.Raise // in force
	Period                 teams.Period  // empty for a rate
	Form                   string        // that raises it; empty: it cannot be raised here
	Part                   string        // the value of the tag, or the key, whose limit it is; empty: of requests without the tag
}

// newLimitRow describes a limit at a moment.
func newLimitRow(s limit.Standing, at time.Time) limitRow {
	row := limitRow{
		Unit: string(s.Unit), UnitName: s.Unit, Per: s.Per, Rate: s.Period == "",
		Used: s.Used, Held: s.Held, Left: s.Left, Most: s.Limit, Limit: s.Limit, In: s.Reset, Period: s.Period,
	}
	if row.Rate {
		row.Name = "Rate of " + row.Unit
		row.Most = s.Used + s.Left
	} else {
		row.Name = title(s.Unit) + map[teams.Period]string{teams.PeriodDay: " today", teams.PeriodMonth: " this month"}[s.Period]
	}
	if s.Reset > 0 && !at.IsZero() {
		row.Resets = at.Add(s.Reset)
	}
	row.Bar = newLimitBar(s.Used, s.Held, row.Most)
	return row
}

// countRow is the same for a number of things in flight.
type countRow struct {
	Name string
	figures.Count
	Bar limitBar
}

// Left returns how many more may be in flight.
func (c countRow) Left() int64 { return max(c.Limit-c.Used, 0) }

func newCountRow(name string, c figures.Count) countRow {
	return countRow{name, c, newLimitBar(c.Used, 0, c.Limit)}
}

// raisable adds the raises of the team's quota, and the name of the form if the person may raise it.
func (r *limitRow) raisable(team *teams.Team, may bool) {
	if r.Rate || team == nil {
		return
	}
	if r.Raises, r.Base = team.RaisesOf(r.UnitName, r.Period); may {
		r.Form = "raise-" + r.Unit + "-" + string(r.Period)
	}
}
