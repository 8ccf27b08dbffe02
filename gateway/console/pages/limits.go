package pages

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"sluice/gateway/console/chart"
	"sluice/gateway/console/figures"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// limitRow is the standing for one limit: of a team, a value of its tag, a key, or all teams together.
type limitRow struct {
	Name             string
	Terms            string // of a rate or a count, shown after the limit
	Bar              chart.Limit
	Used, Held, Left int64
	Limit            int64
	In               time.Duration // until a rate is full
	First            bool          // the unit's limit that is reached first
	Unit             unit.Name     // empty: a limit on concurrency
	Resets           time.Time     // zero: a rate that is full
	Base             int64         // Limit without the raises
	Raises           []teams.Raise // in force
	Period           teams.Period  // empty: not a quota
	Form             string        // the form that raises it; empty: it cannot be raised here
	Part             string        // the tag's value or the key that it limits; empty: requests without the tag
	Same             bool          // the row above has the same Part
	Percent          int           // used or held; only of the nearest limit
}

// newLimitRow describes a limit at a moment, with the currency of a quota of spend.
func newLimitRow(s limit.Standing, at time.Time, currency string) limitRow {
	row := limitRow{Unit: s.Unit, Used: s.Used, Held: s.Held, Left: s.Left, Limit: s.Limit, In: s.Reset, Period: s.Period, Part: s.Of}
	most := s.Limit
	if s.Period == "" {
		most = s.Used + s.Left
		row.Name = "Rate of " + string(s.Unit)
		row.Terms = fmt.Sprintf("per %s, burst %s", s.Per, grouped(most))
	} else {
		row.Name = s.Unit.Title() + map[teams.Period]string{teams.PeriodDay: " today", teams.PeriodMonth: " this month"}[s.Period]
	}
	if s.Unit == unit.NameSpend && currency != "" {
		row.Name += ", " + currency
	}
	if s.Reset > 0 && !at.IsZero() {
		row.Resets = at.Add(s.Reset)
	}
	if s.Period != "" {
		row.Resets = row.Resets.Round(time.Minute) // the standing may be slightly older or newer than at
	}
	row.Bar = chart.NewLimit(s.Used, s.Held, most)
	return row
}

// newCountRow describes a limit on concurrency.
func newCountRow(name string, c figures.Count) limitRow {
	return limitRow{
		Name: name, Terms: "at once", Used: c.Used, Limit: c.Limit, Left: max(c.Limit-c.Used, 0),
		Bar: chart.NewLimit(c.Used, 0, c.Limit),
	}
}

// newNearRow describes the nearest limit of a team; nil: it has none.
func newNearRow(n *figures.Near) *limitRow {
	if n == nil {
		return nil
	}
	row := newCountRow(map[string]string{"concurrent": "in flight here"}[n.Name], figures.Count{Used: n.Used, Limit: n.Limit})
	switch {
	case n.Unit != "":
		row = newLimitRow(n.Standing, time.Time{}, "")
	case row.Name == "":
		row.Name = "open tasks"
	}
	row.Percent = n.Percent
	return &row
}

// raisable sets the raises of the team's quota, and the form if the person may raise it.
func (r *limitRow) raisable(team *teams.Team, may bool) {
	if r.Period == "" || team == nil {
		return
	}
	if r.Raises, r.Base = team.RaisesOf(r.Unit, r.Period); may {
		r.Form = "raise-" + string(r.Unit) + "-" + string(r.Period)
	}
}

// shownParts bounds the values of the tag, and the keys, on a team's page.
const shownParts = 20

// partRows describes the standings of the first parts of a team; more is the number of the other parts.
func partRows(list []limit.Standing, at time.Time, currency string) (rows []limitRow, more int64) {
	names := map[string]bool{}
	for i := range list {
		if names[list[i].Of] = true; len(names) > shownParts {
			continue
		}
		row := newLimitRow(list[i], at, currency)
		row.Same = i > 0 && list[i-1].Of == list[i].Of
		rows = append(rows, row)
	}
	return rows, int64(max(len(names)-shownParts, 0))
}

// ownLimits formats a key's own limits: 60 requests per 1m, 50 images a day, 4 at once, only gen2.6-*.
func ownLimits(k *teams.Key, in unit.Currency) string {
	var all []string
	for _, r := range k.Rates {
		all = append(all, rateText(r, in))
	}
	for _, q := range k.Quotas {
		all = append(all, ofUnit(q.Unit, q.Limit, in)+" a "+string(q.Period))
	}
	if k.Concurrent > 0 {
		all = append(all, grouped(int64(k.Concurrent))+" at once")
	}
	if k.Models != nil {
		all = append(all, "only "+patternsText(k.Models))
	}
	return strings.Join(all, ", ")
}

// accountLimit formats a limit of an account: gen2.6-*: 5 requests per 1s.
func accountLimit(l teams.AccountLimit, in unit.Currency) string {
	of, rates := "all models", make([]string, len(l.Rates))
	if l.Models != nil {
		of = patternsText(l.Models)
	}
	for i, r := range l.Rates {
		rates[i] = rateText(r, in)
	}
	return of + ": " + strings.Join(rates, "; ")
}

// rateText formats a rate: 60 requests per 1m, burst 90.
func rateText(r teams.Rate, in unit.Currency) string {
	text := ofUnit(r.Unit, r.Limit, in) + " per " + r.PerText
	if r.Burst != r.Limit {
		text += ", burst " + grouped(r.Burst)
	}
	return text
}

func patternsText(list []policy.Pattern) string {
	texts := make([]string, len(list))
	for i, p := range list {
		texts[i] = string(p)
	}
	return strings.Join(texts, " ")
}

// ofUnit formats an amount with its unit: 1 request, 12.5 CNY.
func ofUnit(u unit.Name, n int64, in unit.Currency) string {
	if u == unit.NameSpend {
		return in.Money.Written(u, n) + " " + cmp.Or(in.Word, "spend")
	}
	return grouped(n) + " " + unit.Noun(n, string(u))
}
