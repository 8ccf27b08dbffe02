package figures

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/limit"
	"sluice/policy/price"
)

// MoneyQuery selects the use that Money adds up.
type MoneyQuery struct {
	From, To string      // days in UTC, such as 2026-11-21, at most [limit.LedgerDays]
	By       string      // day, team, model, endpoint, account, tag, key or kind; kinds have no requests
	Team     string      // empty: all that the person sees
	Before   *MoneyQuery // only its days count: they are read and added up for comparison; nil: none
}

// dimensions are the values of By.
var dimensions = []string{"day", "team", "model", "endpoint", "account", "tag", "key", "kind"}

// Money is the spending that a query selects.
type Money struct {
	Rows  []Row     // by spend, largest first; by day newest first
	Days  []Row     // every day from From to To
	Apart [][]int64 // the spend of the first rows, at most [MostApart], on each of Days; nil, or a nil row: not known
	Total Use
	Month Month
	// Running is the part of it that belongs to today, which cannot be compared with a whole day; nil: today is none of the days.
	Running *Money
	Was     *Money // the comparison, without a month; nil: none
}

// MostApart bounds the rows of which Money has the spend by day.
const MostApart = 5

// Month is the current month in UTC, in 10⁻⁹ of the currency.
type Month struct {
	Name     string // 2026-11
	Spent    int64
	PerDay   int64 // mean of the last Days whole days; never below 0, even after refunds
	Forecast int64 // Spent plus PerDay for each remaining whole day of the month
	Days     int   // seven, or fewer if the first day with spending is more recent; 0: no forecast
}

// runRate is the number of past whole days that the forecast is based on.
const runRate = 7

// Money adds up the spending. Its totals are those of sluice usage for the same days.
func (f *Figures) Money(ctx context.Context, p access.Person, q MoneyQuery) (m Money, err error) {
	asked, ok := limit.Days(q.From, q.To)
	var before []int
	if ok && q.Before != nil {
		before, ok = limit.Days(q.Before.From, q.Before.To)
	}
	if !ok || !slices.Contains(dimensions, q.By) {
		return m, fmt.Errorf("%w: from %q to %q by %q", ErrQuery, q.From, q.To, q.By)
	}
	now := f.Deps.Now()
	d := dates{spans: [][]int{asked, before}, others: monthDays(now)}
	var b book
	var parted []limit.Row
	var reading Group
	reading.Go(func() (err error) { b, err = f.book(ctx, p, q.Team, d, q.By); return err })
	if parts[q.By] != limit.ScopeTeam {
		reading.Go(func() (err error) {
			parted, err = f.parted(ctx, p, q.Team, q.By, sorted(slices.Concat(asked, before)))
			return err
		})
	}
	if err := reading.Wait(); err != nil {
		return m, err
	}
	whole := q.Team == "" && p.SeesAll()
	if m, err = f.sum(ctx, q.By, whole, &b, parted, asked); err == nil && before != nil {
		m.Was = new(Money)
		*m.Was, err = f.sum(ctx, q.By, whole, &b, parted, before)
		if today := price.DayOf(now); err == nil && slices.Contains(asked, today) {
			m.Running = new(Money)
			*m.Running, err = f.sum(ctx, q.By, whole, &b, parted, []int{today})
		}
	}
	m.Month = forecast(now, func(day int) int64 { return b.total(day).Used[limit.Spend] })
	return m, err
}

// sum adds up some days of a book.
func (f *Figures) sum(ctx context.Context, by string, all bool, b *book, parted []limit.Row, days []int) (m Money, err error) {
	for _, day := range days {
		m.Days = append(m.Days, Row{limit.DayText(day), b.total(day)})
		m.Total = m.Total.Plus(m.Days[len(m.Days)-1].Use)
	}
	byName := adder{}
	if b.sums == nil || len(days) <= byDayMost { // longer spans add up months
		byName.days = &spendDays{days: len(days)}
	}
	switch by {
	case "day":
		m.Rows = slices.DeleteFunc(slices.Clone(m.Days), func(r Row) bool { return r.Use == Use{} })
		slices.Reverse(m.Rows)
		return m, nil
	case "tag", "key":
		err = f.byPart(ctx, &byName, by, all, b, parted, days, m.Total)
	default:
		f.addAll(&byName, b, days, by)
	}
	m.Rows = byName.sorted()
	for i := range min(len(m.Rows), MostApart) {
		m.Apart = append(m.Apart, byName.spend(m.Rows[i].Name))
	}
	return m, err
}

// monthDays returns the days that a forecast needs: those of the month so far, the last runRate whole days, and as many before them, which
// distinguish a new team from one that is idle at weekends.
func monthDays(now time.Time) []int {
	now = now.UTC()
	return lastDays(now, max(now.Day(), 2*runRate+1))
}

// forecast estimates the month's cost if each remaining day costs as much as the mean of the last ones.
func forecast(now time.Time, spent func(day int) int64) (m Month) {
	now = now.UTC()
	m.Name = now.Format("2006-01")
	for day := 1; day <= now.Day(); day++ {
		m.Spent += spent(price.DayOf(now) - now.Day() + day)
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

// Bill calls take with the ledger's rows of a query's days and team, team after team, in the order of reports; it ignores q.By. It ends
// with the first error of take. It reads Redis once for each team, so that a year of a thousand teams is never in memory as a whole. A
// team that was removed from the file keeps its use.
func (f *Figures) Bill(ctx context.Context, p access.Person, q MoneyQuery, take func(rows []limit.Row) error) error {
	days, ok := limit.Days(q.From, q.To)
	if !ok {
		return fmt.Errorf("%w: from %q to %q", ErrQuery, q.From, q.To)
	}
	var asked []string
	if q.Team != "" {
		asked = []string{q.Team}
	}
	ids, err := f.whose(p, asked...)
	if err != nil {
		return err
	}
	if ids == nil { // all teams: those with use on the days
		used, err := f.book(ctx, p, "", dates{spans: [][]int{days}}, "team")
		if err != nil {
			return err
		}
		var names adder
		used.add(&names, days, "team")
		for i := range names.rows {
			if names.rows[i].Name != "" { // a query of "" would read all teams
				ids = append(ids, names.rows[i].Name)
			}
		}
	}
	for _, id := range slices.Sorted(slices.Values(ids)) {
		rows, err := f.Balances.Rows(ctx, limit.Query{Teams: []string{id}, Days: days})
		if err == nil {
			err = take(rows)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
