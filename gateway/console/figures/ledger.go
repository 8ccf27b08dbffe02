package figures

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/limit"
	"sluice/policy/price"
)

// ledger reads the daily use of the teams that a person sees. The ledger of all teams is large: four hundred days of a thousand teams are
// 400,000 hashes in Redis. A page reads only the days that may still change from it, and sums of the others (sums.go).
type ledger struct {
	balances Ledger
	kept     Keeper
	all      House
	now      func() time.Time
	late     time.Duration
	fresh    time.Duration // how long readers share one reading of a day that may change
	wake     chan struct{} // wakes run when a reader misses sums

	mu   sync.Mutex // held while the days of all teams are read, so that readers share them
	open map[openOf]*openDay

	merged merged
}

// openOf names a day that may change, in the ledger by model and endpoint, by tag or by key.
type openOf struct {
	day int
	of  limit.ScopeKind
}

// openDay is the ledger of all teams on a day that may change, and its sums, which are made on demand.
type openDay struct {
	limit.DayRows
	read  time.Time
	sums  map[string]Sum
	added map[string]*added
}

// added is the sum in one dimension, and the rows in it. When a team's rows change, they replace the old ones in the sum.
type added struct {
	adder
	of map[string][]limit.Row // by team
}

const (
	freshFor   = 2 * time.Second // how long readers share one reading of Redis
	mostOpen   = 100_000         // rows of tags or keys of a day that stay in memory: each takes about 250 bytes
	readAtOnce = 31              // days of all teams in one reading, which is briefly in memory
)

// book is the ledger of some days.
type book struct {
	rows   map[int][]limit.Row // of some teams; nil: sums are set
	sums   map[DayBy]Sum       // of all teams, for a person who sees all: of days, or of whole months instead of their days
	totals map[int]Use         // caches total, and has the days of such months
}

// spans replaces days by whole months that have a sum.
func (b *book) spans(days []int, by string) (list []int) {
	for month, of := range byMonth(days) {
		if _, found := b.sums[DayBy{month, by}]; found {
			of = []int{month}
		}
		list = append(list, of...)
	}
	return list
}

// add adds up use by one of the [dimensions], without tags and keys that have no sum.
func (b *book) add(to *adder, days []int, by string) {
	if b.rows == nil {
		b.addSums(to, days, b.spans(days, by), by)
	}
	for _, of := range days {
		if rows := b.rows[of]; len(rows) > 0 {
			to.on(days, of)
			for i := range rows {
				to.addRow(&rows[i], by, 1)
			}
		}
	}
}

// addSums adds up sums of some of the days, or of their months.
func (b *book) addSums(to *adder, days, spans []int, by string) {
	for _, of := range spans {
		to.on(days, of)
		sum := b.sums[DayBy{of, by}]
		for row := range sum.Rows() {
			to.add(row.Name, &row.Use)
		}
	}
}

// total returns the use of a day.
func (b *book) total(day int) (u Use) {
	if b.totals == nil {
		b.totals = map[int]Use{}
		for of, sum := range b.sums {
			if of.By == "day" { // a month's totals by day
				for row := range sum.Rows() {
					day, _ := strconv.Atoi(row.Name)
					b.totals[day] = row.Use
				}
			}
		}
	}
	u, added := b.totals[day]
	if !added {
		var all adder
		b.add(&all, []int{day}, "endpoint")
		for i := range all.rows {
			u.add(&all.rows[i].Use)
		}
		b.totals[day] = u
	}
	return u
}

// dates are days to be read.
type dates struct {
	spans  [][]int // added up, each in order
	others []int   // only their totals are needed
}

// all returns the distinct days.
func (d dates) all() []int { return sorted(append(slices.Concat(d.spans...), d.others...)) }

// sorted returns the distinct days in order.
func sorted(days []int) []int { return slices.Compact(slices.Sorted(slices.Values(days))) }

// byMonth iterates over ordered days by month, with the month as yyyymm if all of its days are there, else 0.
func byMonth(days []int) iter.Seq2[int, []int] {
	return func(yield func(int, []int) bool) {
		for rest := days; len(rest) > 0; {
			month, n := rest[0]/100, 1
			for n < len(rest) && rest[n]/100 == month {
				n++
			}
			whole := time.Date(month/100, time.Month(month%100+1), 0, 0, 0, 0, 0, time.UTC).Day()
			if n < whole {
				month = 0
			}
			if !yield(month, rest[:n:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

// addRow adds a ledger row, or its kinds, multiplied by times.
func (a *adder) addRow(row *limit.Row, by string, times int64) {
	if by != "kind" {
		use := useOf(row)
		a.add(nameOf(row, by), use.times(times))
		return
	}
	for _, p := range row.Parts() {
		use := Use{p.Used, p.Estimated}
		a.add(strings.TrimSpace(p.Kind.String()+" "+p.Size), use.times(times))
	}
}

// nameOf returns a ledger row's name in one of the [dimensions], except day and kind.
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

// parts are the dimensions that have a ledger of their own.
var parts = map[string]limit.ScopeKind{"tag": limit.ScopeTag, "key": limit.ScopeKey}

// partOf returns the dimension whose ledger has the row; empty: the ledger by model and endpoint.
func partOf(row *limit.Row) string {
	switch {
	case row.Tag != "":
		return "tag"
	case row.Key != "":
		return "key"
	}
	return ""
}

// book reads days of one team, or of all teams that a person sees, to add them up by one dimension.
func (l *ledger) book(ctx context.Context, p access.Person, team string, d dates, by string) (book, error) {
	switch {
	case team != "" && !p.Sees(team):
		return book{}, ErrAbsent
	case team != "":
		return l.rows(ctx, limit.Query{Teams: []string{team}, Days: d.all()})
	case !p.SeesAll():
		return l.rows(ctx, limit.Query{Teams: append([]string{}, p.Teams...), Days: d.all()})
	case by == "day" || by == "endpoint":
		return l.house(ctx, d, "endpoint")
	}
	return l.house(ctx, d, "endpoint", by) // the first is for the totals
}

// rows reads rows of the ledger by their days.
func (l *ledger) rows(ctx context.Context, q limit.Query) (book, error) {
	b := book{rows: map[int][]limit.Row{}}
	if q.Teams != nil && len(q.Teams) == 0 {
		return b, nil
	}
	rows, err := l.balances.Rows(ctx, q)
	for i := range rows {
		b.rows[rows[i].Day] = append(b.rows[rows[i].Day], rows[i])
	}
	return b, err
}

// house reads days of all teams.
func (l *ledger) house(ctx context.Context, d dates, by ...string) (b book, err error) {
	open, _ := l.split(d.all())
	var past dates
	_, past.others = l.split(d.others)
	for _, span := range d.spans {
		_, days := l.split(span)
		past.spans = append(past.spans, days)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var today map[DayBy]Sum
	var reading Group
	reading.Go(func() (err error) { today, err = l.openDays(ctx, open, by); return err })
	reading.Go(func() (err error) { b.sums, err = l.sums(ctx, past, by); return err })
	if err := reading.Wait(); err != nil {
		return book{}, err
	}
	maps.Copy(b.sums, today)
	return b, nil
}

// openDays returns the sums of days that may change. It reads days that are not fresh, and adds up only what has changed.
func (l *ledger) openDays(ctx context.Context, days []int, by []string) (map[DayBy]Sum, error) {
	at := l.now()
	var kinds []limit.ScopeKind
	for _, way := range by {
		if kind := parts[way]; !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	stale, read := make([][]int, len(kinds)), make([]map[int]limit.DayRows, len(kinds))
	var reading Group
	for i, kind := range kinds {
		stale[i] = slices.DeleteFunc(slices.Clone(days), func(day int) bool {
			was := l.open[openOf{day, kind}]
			return was != nil && at.Sub(was.read) < l.fresh
		})
		if len(stale[i]) > 0 {
			reading.Go(func() (err error) { read[i], err = l.all.Days(ctx, kind, stale[i]); return err })
		}
	}
	if err := reading.Wait(); err != nil {
		return nil, err
	}
	if l.open == nil {
		l.open = map[openOf]*openDay{}
	}
	maps.DeleteFunc(l.open, func(of openOf, _ *openDay) bool { return l.over(of.day, at) && !slices.Contains(days, of.day) })
	for i, kind := range kinds {
		for _, day := range stale[i] {
			l.renewOpen(openOf{day, kind}, read[i][day], at)
		}
	}
	sums := map[DayBy]Sum{}
	for _, day := range days {
		for _, way := range by {
			sums[DayBy{day, way}] = l.open[openOf{day, parts[way]}].sum(way)
		}
	}
	maps.DeleteFunc(l.open, func(of openOf, d *openDay) bool { return of.of != limit.ScopeTeam && d.rows() > mostOpen })
	return sums, nil
}

// renewOpen stores a day as read at a moment.
func (l *ledger) renewOpen(of openOf, rows limit.DayRows, at time.Time) {
	if was := l.open[of]; was == nil || was.State != rows.State {
		l.open[of] = &openDay{DayRows: rows, sums: map[string]Sum{}, added: map[string]*added{}}
		if was != nil {
			l.open[of].added = was.added
		}
	}
	l.open[of].read = at
}

// rows counts the rows of all teams.
func (d *openDay) rows() (n int) {
	for _, rows := range d.Teams {
		n += len(rows)
	}
	return n
}

func (d *openDay) sum(by string) Sum {
	sum, made := d.sums[by]
	if made {
		return sum
	}
	a := d.added[by]
	if a == nil {
		a = &added{of: map[string][]limit.Row{}}
		d.added[by] = a
	}
	gone := maps.Clone(a.of)
	for _, rows := range d.Teams {
		if len(rows) > 0 {
			delete(gone, rows[0].Team)
			a.put(rows[0].Team, rows, by)
		}
	}
	for team := range gone {
		a.put(team, nil, by)
	}
	sum = newSum(0, d.read, a.rows, true)
	d.sums[by] = sum
	return sum
}

// put replaces the rows of a team in the sum.
func (a *added) put(team string, rows []limit.Row, by string) {
	was := a.of[team]
	if len(was) == len(rows) && (len(rows) == 0 || &was[0] == &rows[0]) {
		return
	}
	for i := range was {
		a.addRow(&was[i], by, -1)
	}
	for i := range rows {
		a.addRow(&rows[i], by, 1)
	}
	a.of[team] = rows
}

// split divides days into those that may change, which are read from the ledger, and past ones, which have sums. Sums are kept only as
// long as the ledger certainly is. Days outside the ledger are dropped.
func (l *ledger) split(days []int) (open, past []int) {
	at := l.now()
	kept := price.DayOf(at.AddDate(0, 0, 1-limit.LedgerDays))
	first, last := price.DayOf(at.AddDate(0, 0, -1-limit.LedgerDays)), price.DayOf(at.AddDate(0, 0, 1))
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

// over reports whether usually all requests of a day are charged by at. A manual correction counts on its own day.
func (l *ledger) over(day int, at time.Time) bool {
	return at.Sub(limit.DayEnds(day)) > l.late+time.Hour
}

// without names the use of requests without a tag or a key. No tag or key has a space, so the name is unique.
func without(by string) string { return "without a " + by }

// parted reads the ledger of tags or keys of some teams for some days. For all teams it returns nil, because the book has it.
func (l *ledger) parted(ctx context.Context, p access.Person, team, by string, days []int) ([]limit.Row, error) {
	q := limit.Query{Days: days, By: parts[by]}
	switch {
	case team != "" && !p.Sees(team):
		return nil, ErrAbsent
	case team != "":
		q.Teams = []string{team}
	case !p.SeesAll():
		q.Teams = append([]string{}, p.Teams...)
	default:
		return nil, nil
	}
	if len(q.Teams) == 0 || len(q.Days) == 0 {
		return nil, nil
	}
	return l.balances.Rows(ctx, q)
}

// addAll adds up use by a dimension that is not one of parts.
func (l *ledger) addAll(to *adder, b *book, days []int, by string) {
	if b.sums == nil {
		b.add(to, days, by)
		return
	}
	open, past := l.split(days)
	l.merged.add(to, b, days, b.spans(past, by), by)
	b.addSums(to, days, open, by)
}

// byPart adds up the use of each tag or key. The rest of the total has none. For all teams it reads the days without a sum in chunks:
// each may have a million rows.
func (l *ledger) byPart(ctx context.Context, byName *adder, by string, all bool, b *book, parted []limit.Row, days []int, total Use) error {
	addRows := func(rows []limit.Row) {
		for i := range rows {
			if use := useOf(&rows[i]); rows[i].Day >= days[0] && rows[i].Day <= days[len(days)-1] {
				byName.on(days, rows[i].Day)
				byName.add(nameOf(&rows[i], by), &use)
			}
		}
	}
	addRows(parted)
	if all {
		open, past := l.split(days)
		spans, rest := b.spans(past, by), []int(nil)
		spans = slices.DeleteFunc(spans, func(of int) bool {
			whole := b.sums[DayBy{of, by}].Whole
			if !whole {
				rest = append(rest, of)
			}
			return !whole
		})
		l.merged.add(byName, b, days, spans, by)
		b.addSums(byName, days, open, by)
		for part := range slices.Chunk(rest, readAtOnce) {
			rows, err := l.balances.Rows(ctx, limit.Query{Days: part, By: parts[by]})
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
	byName.days = nil // the rest is not known by day
	byName.add(without(by), &rest)
	byName.days = kept
	return nil
}
