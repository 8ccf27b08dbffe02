package figures

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/gateway/console/access"
	"sluice/gateway/console/figures/daily"
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
	var l book
	var tagged []limit.Row
	err = together(
		func() (err error) { l, err = f.ledger(ctx, p, q.Team, slices.Compact(days), q.By); return err },
		func() (err error) { tagged, err = f.tagged(ctx, p, q, asked); return err },
	)
	if err != nil {
		return m, err
	}
	byName := adder{}
	for _, day := range asked {
		use := l.total(day)
		m.Days = append(m.Days, DayUse{dayName(day), use})
		m.Total = m.Total.Plus(use)
	}
	if q.By != "tag" {
		l.add(byName, asked, q.By)
	} else {
		if byName, err = f.byTag(ctx, l, tagged, asked, m.Total); err != nil {
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

// tagged reads the ledger of tags of a person's own teams, or of one team; nothing if it is not asked for, or may not be seen.
func (f *Figures) tagged(ctx context.Context, p access.Person, q MoneyQuery, days []int) ([]limit.Row, error) {
	ids := p.Teams
	if q.Team != "" {
		ids = []string{q.Team}
	}
	if q.By != "tag" || q.Team == "" && p.SeesAll() || q.Team != "" && !p.Sees(q.Team) || len(ids) == 0 {
		return nil, nil
	}
	return f.Accounts.Rows(ctx, limit.Query{Teams: ids, Days: days, Tags: true})
}

// byTag adds up what was used for each tag. What of the total is in no row of it has no tag.
func (f *Figures) byTag(ctx context.Context, l book, tagged []limit.Row, days []int, total Use) (adder, error) {
	byName := adder{}
	if sums, all := l.(sumBook); all {
		for part := range slices.Chunk(sums.addTags(byName, days), readAtOnce) {
			rows, err := f.Accounts.Rows(ctx, limit.Query{Days: part, Tags: true})
			if err != nil {
				return nil, err
			}
			byName.addTagged(rows) // there may be a million for each part
		}
	}
	byName.addTagged(tagged)
	sum := Use{}
	for _, use := range byName {
		sum = sum.Plus(use)
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

// ledger reads days of one team, or of all teams that a person sees, for adding them up in one way.
func (f *Figures) ledger(ctx context.Context, p access.Person, team string, days []int, by string) (book, error) {
	if team == "" && p.SeesAll() {
		ways := []daily.By{daily.ByEndpoint} // for the totals
		if by == "team" || by == "model" || by == "tag" {
			ways = append(ways, daily.By(by))
		}
		return f.sums.of(ctx, days, ways...)
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

// rows reads days of some teams.
func (f *Figures) rows(ctx context.Context, ids []string, days []int) (rowBook, error) {
	b := rowBook{}
	if len(ids) == 0 { // else they would be all
		return b, nil
	}
	rows, err := f.Accounts.Rows(ctx, limit.Query{Teams: ids, Days: days})
	for _, row := range rows {
		b[row.Day] = append(b[row.Day], row)
	}
	return b, err
}
