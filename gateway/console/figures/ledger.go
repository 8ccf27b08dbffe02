package figures

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/gateway/console/access"
	"sluice/policy/limit"
)

// ledger reads the daily use of teams, as one person sees it. With Redis the ledger of all teams is large: four hundred days of a
// thousand teams are 400,000 hashes. A page reads the days that may still change from it, and sums of the others: sums.go.
type ledger struct {
	accounts Ledger
	kept     Keeper // nil: the ledger is in this process
	versions func(ctx context.Context, days []int) ([]uint64, error)
	now      func() time.Time
	late     time.Duration
	wake     chan struct{} // a reader misses sums

	mu   sync.Mutex // held while the days of all teams are read, so that readers share them
	open map[int]openDay
}

// openDay is the ledger of all teams on a day that may change.
type openDay struct {
	rows []limit.Row
	read time.Time
}

const (
	freshFor   = 2 * time.Second // how long consoles share one reading of a day that may change
	readAtOnce = 31              // days of all teams: a reading is briefly in memory
)

// book is the ledger of some days.
type book struct {
	rows map[int][]limit.Row
	sums map[DayBy]Sum // of past days, for a person who sees all
}

// each iterates over a day's use by one of the [ways], without tags and keys that have no sum.
func (b *book) each(day int, by string) iter.Seq[*Row] {
	if sum, found := b.sums[DayBy{day, by}]; found {
		return sum.Rows()
	}
	return func(yield func(*Row) bool) {
		for i := range b.rows[day] {
			for row := range rowsOf(&b.rows[day][i], by) {
				if !yield(row) {
					return
				}
			}
		}
	}
}

func (b *book) total(day int) (u Use) {
	for row := range b.each(day, "endpoint") {
		u.add(&row.Use)
	}
	return u
}

func (b *book) add(to *adder, days []int, by string) {
	for n, day := range days {
		to.on(n)
		for row := range b.each(day, by) {
			to.add(row.Name, &row.Use)
		}
	}
}

// rowsOf iterates over what a ledger row is summed as in one of the [ways], except by day: itself, or its kinds.
func rowsOf(row *limit.Row, by string) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		if by != "kind" {
			yield(&Row{nameOf(row, by), useOf(row)})
			return
		}
		for _, p := range row.Parts() {
			if !yield(&Row{strings.TrimSpace(p.Kind.String() + " " + p.Size), Use{p.Used, p.Estimated}}) {
				return
			}
		}
	}
}

// nameOf returns the name that a ledger row is summed under in one of the [ways], except by day and by kind.
func nameOf(row *limit.Row, by string) string {
	switch by {
	case "team":
		return row.Team
	case "model":
		return row.Model
	case "endpoint":
		return string(row.Endpoint)
	case "account":
		return limit.AccountName(row.Account)
	case "tag":
		return row.Tag
	}
	return row.Key
}

// parts are the ways that have a ledger of their own.
var parts = map[string]limit.ScopeKind{"tag": limit.ScopeTag, "key": limit.ScopeKey}

// partOf is the way whose ledger a row is of; empty: it is of the ledger of models and endpoints.
func partOf(row *limit.Row) string {
	switch {
	case row.Tag != "":
		return "tag"
	case row.Key != "":
		return "key"
	}
	return ""
}

// book reads days of one team, or of all teams that a person sees, for adding them up in one way.
func (l *ledger) book(ctx context.Context, p access.Person, team string, days []int, by string) (book, error) {
	switch {
	case team != "" && !p.Sees(team):
		return book{}, ErrAbsent
	case team != "":
		return l.rows(ctx, limit.Query{Teams: []string{team}, Days: days})
	case !p.SeesAll():
		return l.rows(ctx, limit.Query{Teams: append([]string{}, p.Teams...), Days: days})
	case l.kept == nil:
		return l.rows(ctx, limit.Query{Days: days})
	case by == "day" || by == "endpoint":
		return l.house(ctx, days, "endpoint")
	}
	return l.house(ctx, days, "endpoint", by) // the first is for the totals
}

// rows reads rows of the ledger by their days.
func (l *ledger) rows(ctx context.Context, q limit.Query) (book, error) {
	b := book{rows: map[int][]limit.Row{}}
	if q.Teams != nil && len(q.Teams) == 0 {
		return b, nil
	}
	rows, err := l.accounts.Rows(ctx, q)
	for i := range rows {
		b.rows[rows[i].Day] = append(b.rows[rows[i].Day], rows[i])
	}
	return b, err
}

// house reads days of all teams.
func (l *ledger) house(ctx context.Context, days []int, by ...string) (b book, err error) {
	open, past := l.split(days)
	l.mu.Lock()
	defer l.mu.Unlock()
	var reading errgroup.Group
	reading.Go(func() (err error) { b.rows, err = l.openDays(ctx, open); return err })
	reading.Go(func() (err error) { b.sums, err = l.sums(ctx, past, by); return err })
	return b, reading.Wait()
}

// openDays reads days that may change, unless they were read a moment ago.
func (l *ledger) openDays(ctx context.Context, days []int) (map[int][]limit.Row, error) {
	at, rows := l.now(), map[int][]limit.Row{}
	var stale []int
	for _, day := range days {
		if of := l.open[day]; at.Sub(of.read) < freshFor {
			rows[day] = of.rows
		} else {
			stale = append(stale, day)
		}
	}
	if len(stale) == 0 {
		return rows, nil
	}
	b, err := l.rows(ctx, limit.Query{Days: stale})
	if err != nil {
		return nil, err
	}
	kept := map[int]openDay{} // without days that are no longer requested
	for day, of := range l.open {
		if at.Sub(of.read) < freshFor {
			kept[day] = of
		}
	}
	for _, day := range stale {
		rows[day], kept[day] = b.rows[day], openDay{b.rows[day], at}
	}
	l.open = kept
	return rows, nil
}

// split divides days into those that are read from the ledger each time and past ones. Sums are kept as long as the ledger
// certainly is; days outside that time have none.
func (l *ledger) split(days []int) (open, past []int) {
	at := l.now()
	kept := dayOf(at.AddDate(0, 0, 1-limit.LedgerDays))
	first, last := dayOf(at.AddDate(0, 0, -1-limit.LedgerDays)), dayOf(at.AddDate(0, 0, 1))
	for _, day := range days {
		switch {
		case day < first || day > last:
		case day >= kept && l.over(day, at):
			past = append(past, day)
		default:
			open = append(open, day)
		}
	}
	return open, past
}

// over reports whether at a moment a day's requests are usually all charged. A manual correction belongs to its own day.
func (l *ledger) over(day int, at time.Time) bool {
	ends := time.Date(day/10000, time.Month(day/100%100), day%100+1, 0, 0, 0, 0, time.UTC)
	return at.Sub(ends) > l.late+time.Hour
}

// without names the use of requests without a tag or a key. Neither has a space.
func without(by string) string { return "without a " + by }

// parted reads the ledger of tags or keys for some days beside their book: for all teams only of the days that may change.
func (l *ledger) parted(ctx context.Context, p access.Person, team, by string, days []int) ([]limit.Row, error) {
	q := limit.Query{Days: days, By: parts[by]}
	switch {
	case team != "" && !p.Sees(team):
		return nil, ErrAbsent
	case team != "":
		q.Teams = []string{team}
	case !p.SeesAll():
		q.Teams = append([]string{}, p.Teams...)
	case l.kept == nil:
		return nil, nil // byPart reads them
	default:
		q.Days, _ = l.split(days)
	}
	if q.Teams != nil && len(q.Teams) == 0 || len(q.Days) == 0 {
		return nil, nil
	}
	return l.accounts.Rows(ctx, q)
}

// byPart adds up the use of each tag or key. The rest of the total is without one. Of all teams it reads the days that are in no sum
// part by part: there may be a million rows in each.
func (l *ledger) byPart(ctx context.Context, byName *adder, by string, all bool, b *book, parted []limit.Row, days []int, total Use) error {
	addRows := func(rows []limit.Row) {
		for i := range rows {
			use := useOf(&rows[i])
			day, _ := slices.BinarySearch(days, rows[i].Day)
			byName.on(day)
			byName.add(nameOf(&rows[i], by), &use)
		}
	}
	addRows(parted)
	if all {
		rest := days
		if l.kept != nil {
			_, rest = l.split(days)
		}
		rest = slices.DeleteFunc(slices.Clone(rest), func(day int) bool {
			sum := b.sums[DayBy{day, by}]
			n, _ := slices.BinarySearch(days, day)
			byName.on(n)
			for row := range sum.Rows() {
				byName.add(row.Name, &row.Use)
			}
			return sum.Whole
		})
		for part := range slices.Chunk(rest, readAtOnce) {
			rows, err := l.accounts.Rows(ctx, limit.Query{Days: part, By: parts[by]})
			if err != nil {
				return err
			}
			addRows(rows)
		}
	}
	rest := total
	for i := range byName.rows {
		of := &byName.rows[i].Use
		rest = Use{rest.Used.Minus(of.Used), rest.Estimated.Minus(of.Estimated)}
	}
	kept := byName.days
	byName.days = nil // no day of the rest is known
	byName.add(without(by), &rest)
	byName.days = kept
	return nil
}
