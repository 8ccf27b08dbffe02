package figures

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/limit"
)

// MoneyQuery chooses what Money adds up.
type MoneyQuery struct {
	From, To string // days in UTC, such as 2026-11-21, at most [limit.LedgerDays]
	By       string // day, team, model, endpoint or tag
	Team     string // empty: all that the person sees
}

// ways are the ways to add up.
var ways = []string{"day", "team", "model", "endpoint", "tag"}

// Money is what was spent.
type Money struct {
	Rows  []MoneyRow // by spend, the largest first; by day the newest first
	Days  []DayUse   // every day from From to To
	Total Use
	Month Month
}

// Month is the current month in UTC, in 10⁻⁹ of the currency.
type Month struct {
	Name     string // 2026-11
	Spent    int64
	PerDay   int64 // mean of the last Days whole days; not below 0, whatever was given back
	Forecast int64 // Spent, and PerDay for each whole day that is left of the month
	Days     int   // seven, or fewer if the first that spent something is not so long ago; 0: there is no forecast
}

// runRate is how many whole days the forecast looks back.
const runRate = 7

// Money adds up what was spent. Its totals are those of sluice usage for the same days.
func (f *Figures) Money(ctx context.Context, p access.Person, q MoneyQuery) (m Money, err error) {
	asked, ok := limit.Days(q.From, q.To)
	if !ok || !slices.Contains(ways, q.By) {
		return m, fmt.Errorf("%w: from %q to %q by %q", ErrQuery, q.From, q.To, q.By)
	}
	now := f.Deps.Now()
	days := slices.Concat(asked, monthDays(now))
	slices.Sort(days)
	l, err := f.ledger(ctx, p, q.Team, slices.Compact(days))
	if err != nil {
		return m, err
	}
	byName := adder{}
	for _, day := range asked {
		use := l.total(day)
		m.Days = append(m.Days, DayUse{dayName(day), use})
		m.Total = m.Total.Plus(use)
		l.add(byName, day, q.By)
	}
	if q.By == "tag" {
		if byName, err = f.byTag(ctx, p, q.Team, asked, m.Total); err != nil {
			return m, err
		}
	}
	m.Rows = byName.rows()
	if q.By == "day" {
		slices.SortFunc(m.Rows, func(a, b MoneyRow) int { return strings.Compare(b.Name, a.Name) })
	}
	m.Month = forecast(now, func(day int) int64 { return l.total(day).Used[limit.Spend] })
	return m, nil
}

// untagged names the use of requests without a tag. No tag has a space.
const untagged = "without a tag"

// byTag adds up the ledger of tags of the teams that a person sees. What of the total is in no row of it has no tag.
func (f *Figures) byTag(ctx context.Context, p access.Person, team string, days []int, total Use) (adder, error) {
	ids := p.Teams
	if team != "" || p.SeesAll() {
		ids = []string{team} // [Figures.ledger] has asked whether it may be seen
	}
	byName, sum := adder{}, Use{}
	for _, id := range ids {
		for part := range slices.Chunk(days, readAtOnce) {
			rows, err := f.Accounts.Tags(ctx, id, part)
			if err != nil {
				return nil, err
			}
			for i := range rows {
				use := useOf(&rows[i])
				byName.add(rows[i].Tag, use)
				sum = sum.Plus(use)
			}
		}
	}
	if rest := (Use{total.Used.Minus(sum.Used), total.Estimated.Minus(sum.Estimated)}); rest != (Use{}) {
		byName.add(untagged, rest)
	}
	return byName, nil
}

// monthDays lists the days that a forecast needs: those of the month so far, the last whole ones, and as many before them, which tell
// a young team from one that rests at the weekend.
func monthDays(now time.Time) []int {
	now = now.UTC()
	return lastDays(now, max(now.Day(), 2*runRate+1))
}

// forecast says what the month will have cost, if each day that is left costs as much as the last ones did.
func forecast(now time.Time, spent func(day int) int64) (m Month) {
	now = now.UTC()
	m.Name = now.Format("2006-01")
	for day := 1; day <= now.Day(); day++ {
		m.Spent += spent(dayOf(now) - now.Day() + day)
	}
	begun, sum, whole := false, int64(0), monthDays(now)
	whole = whole[:len(whole)-1] // without today
	for i, day := range whole {
		n := spent(day)
		if begun = begun || n != 0; begun && i >= len(whole)-runRate {
			m.Days, sum = m.Days+1, sum+n
		}
	}
	if m.Days > 0 {
		m.PerDay = max(sum/int64(m.Days), 0)
	}
	left := now.AddDate(0, 1, -now.Day()).Day() - now.Day()
	m.Forecast = m.Spent + m.PerDay*int64(left)
	return m
}

// book is the ledger of some days as one person sees it.
type book interface {
	total(day int) Use
	add(to adder, day int, by string)
}

// ledger reads days of one team, or of all teams that a person sees.
func (f *Figures) ledger(ctx context.Context, p access.Person, team string, days []int) (book, error) {
	if team == "" && p.SeesAll() {
		list, err := f.sums.of(ctx, days)
		if err != nil {
			return nil, err
		}
		b := sumBook{}
		for i, day := range days {
			b[day] = list[i]
		}
		return b, nil
	}
	ids := p.Teams
	if team != "" {
		if !p.Sees(team) {
			return nil, ErrAbsent
		}
		ids = []string{team}
	}
	return f.rows(ctx, ids, days)
}

// rows reads days of some teams, all at the same time.
func (f *Figures) rows(ctx context.Context, ids []string, days []int) (rowBook, error) {
	lists, errs := make([][]limit.Row, len(ids)), make([]error, len(ids))
	var reading sync.WaitGroup
	for i, id := range ids {
		reading.Go(func() { lists[i], errs[i] = f.Accounts.Ledger(ctx, id, days) })
	}
	reading.Wait()
	b := rowBook{}
	for i := range ids {
		if errs[i] != nil {
			return nil, errs[i]
		}
		for _, row := range lists[i] {
			b[row.Day] = append(b[row.Day], row)
		}
	}
	return b, nil
}

// sumBook is of all teams.
type sumBook map[int]*daySum

func (b sumBook) total(day int) (u Use) {
	for i := range b[day].endpoints {
		u = u.Plus(b[day].endpoints[i].Use)
	}
	return u
}

func (b sumBook) add(to adder, day int, by string) {
	var rows []MoneyRow
	switch d := b[day]; by {
	case "team":
		rows = d.teams
	case "model":
		rows = d.models
	case "endpoint":
		rows = d.endpoints
	case "day":
		if use := b.total(day); use != (Use{}) {
			rows = []MoneyRow{{dayName(day), use}}
		}
	}
	for i := range rows {
		to.add(rows[i].Name, rows[i].Use)
	}
}

// rowBook is of some teams.
type rowBook map[int][]limit.Row

func (b rowBook) total(day int) (u Use) {
	for i := range b[day] {
		u = u.Plus(useOf(&b[day][i]))
	}
	return u
}

func (b rowBook) add(to adder, day int, by string) {
	for i := range b[day] {
		row := &b[day][i]
		name := ""
		switch by {
		case "team":
			name = row.Team
		case "model":
			name = row.Model
		case "endpoint":
			name = string(row.Endpoint)
		case "day":
			name = dayName(day)
		}
		to.add(name, useOf(row))
	}
}
