package figures

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/policy/limit"
)

// Sums of past days and of their months are kept, so that a year is twelve sums. A change of a past day increments its version in the
// ledger; then its sums are made again, and those of its month from them. One replica at a time makes them in advance, one day after
// another, newest first.
const (
	patience  = 60 * time.Millisecond // how long a reader makes missing sums; then it must retry
	firstLook = 3 * time.Second       // after the start
	lookEvery = 10 * time.Minute
	failedFor = time.Minute      // until the next look after a failure
	leadFor   = 10 * time.Second // the leader lease of one process
	leadsLess = 2 * time.Second  // the leader stops this long before the lease ends
	restTimes = 4                // the pause after each day, as a multiple of the time it took: Redis and the process serve others too
	ageing    = 24 * time.Hour   // the age at which a sum is made again, because other tools may have changed the ledger
	agedOnce  = 4                // aged sums per look, so that each is renewed within a day
	byDayMost = 93               // the longest span that is added up by day, so that each row's spend by day is known
)

// AddingError reports that sums of days are missing and are being made.
type AddingError struct{ Missing, Days int }

func (e *AddingError) Error() string {
	return fmt.Sprintf("the sums of %d of %d days are being made", e.Missing, e.Days)
}

// sums returns the sums of past days; in long spans those of whole months instead of their days. It makes a few missing ones.
func (l *ledger) sums(ctx context.Context, d dates, by []string) (map[DayBy]Sum, error) {
	single, months := slices.Clone(d.others), map[int][]int{}
	for _, days := range d.spans {
		for month, of := range byMonth(days) {
			if len(days) <= byDayMost {
				month = 0
			}
			if months[month] = of; month == 0 {
				single = append(single, of...)
			}
		}
	}
	delete(months, 0)
	single = sorted(single)
	if len(single)+len(months) == 0 {
		return map[DayBy]Sum{}, nil
	}
	ofMonth := append(slices.Clone(by), "day")
	sums, versions, err := l.load(ctx, single, months, ofMonth)
	if err != nil {
		return nil, err
	}
	var stale, apart []int // months, and days of months without usable sums
	for month, of := range months {
		if lacks(sums, month, ofMonth, versions) {
			stale = append(stale, month)
		}
		whole := true
		for _, way := range ofMonth {
			whole = whole && sums[DayBy{month, way}].Whole
		}
		if !whole || slices.Contains(stale, month) {
			apart = append(apart, of...)
		}
	}
	if len(apart) > 0 {
		more, err := l.kept.Load(ctx, apart, by)
		if err != nil {
			return nil, err
		}
		maps.Copy(sums, more)
	}
	missing := slices.DeleteFunc(sorted(slices.Concat(single, apart)), func(day int) bool { return !lacks(sums, day, by, versions) })
	for begun, n := l.now(), 2; len(missing) > 0; n = min(2*n, readAtOnce) {
		some := missing[:min(n, len(missing))]
		made, err := l.make(ctx, some, versions)
		if err != nil {
			return nil, err
		}
		_ = l.kept.Save(ctx, made) // without it the next reader makes them again
		maps.Copy(sums, made)
		missing = missing[len(some):]
		if len(missing) > 0 && 2*l.now().Sub(begun) > patience {
			select {
			case l.wake <- struct{}{}:
			default: // already woken
			}
			return nil, &AddingError{len(missing), len(versions) - len(months)}
		}
	}
	made := map[DayBy]Sum{}
	for _, month := range stale {
		maps.Copy(made, l.addUp(month, months[month], sums, ofMonth, versions))
	}
	if len(made) > 0 {
		_ = l.kept.Save(ctx, made)
		maps.Copy(sums, made)
	}
	maps.DeleteFunc(sums, func(of DayBy, sum Sum) bool { return months[of.Day] != nil && !sum.Whole }) // the month's days are used
	return sums, nil
}

// addUp makes a month's sums from those of its days. If a day has no whole sum, the month's is not whole.
func (l *ledger) addUp(month int, days []int, sums map[DayBy]Sum, by []string, versions map[int]uint64) map[DayBy]Sum {
	made := map[DayBy]Sum{}
	for _, way := range by {
		of, all, whole := way, adder{}, true
		if way == "day" {
			of = "endpoint"
		}
		for _, day := range days {
			sum := sums[DayBy{day, of}]
			whole = whole && sum.Whole && !isStale(sums, DayBy{day, of}, versions)
			for row := range sum.Rows() {
				name := row.Name
				if way == "day" {
					name = strconv.Itoa(day)
				}
				all.add(name, &row.Use)
			}
		}
		if !whole {
			all.rows = nil
		}
		slices.SortFunc(all.rows, compareName)
		made[DayBy{month, way}] = newSum(versions[month], l.now(), all.rows, whole)
	}
	return made
}

// lacks reports whether one of the sums of a day or month is stale.
func lacks(sums map[DayBy]Sum, of int, by []string, versions map[int]uint64) bool {
	return slices.ContainsFunc(by, func(by string) bool { return isStale(sums, DayBy{of, by}, versions) })
}

// isStale reports whether a sum is missing or of another version.
func isStale(sums map[DayBy]Sum, of DayBy, versions map[int]uint64) bool {
	sum, found := sums[of]
	return !found || sum.Version != versions[of.Day]
}

// load reads the stored sums of days and months, and the versions of all days. A month's version is the sum of its days' versions.
func (l *ledger) load(ctx context.Context, days []int, months map[int][]int, by []string) (sums map[DayBy]Sum, versions map[int]uint64,
	err error,
) {
	spans, all := slices.Clone(days), slices.Clone(days)
	for month, of := range months {
		spans, all = append(spans, month), append(all, of...)
	}
	all = sorted(all)
	versions = make(map[int]uint64, len(all)+len(months))
	var reading Group
	reading.Go(func() (err error) { sums, err = l.kept.Load(ctx, spans, by); return err })
	reading.Go(func() error {
		list, err := l.all.Versions(ctx, all)
		for i, version := range list {
			versions[all[i]] = version
		}
		return err
	})
	err = reading.Wait()
	for month, of := range months {
		for _, day := range of {
			versions[month] += versions[day]
		}
	}
	return sums, versions, err
}

// make adds up days of the ledger. The versions must be read before the ledger.
func (l *ledger) make(ctx context.Context, days []int, versions map[int]uint64) (map[DayBy]Sum, error) {
	made := l.now()
	var lists [limit.TeamScopes][]limit.Row
	var reading Group
	for k := range lists {
		reading.Go(func() (err error) {
			lists[k], err = l.balances.Rows(ctx, limit.Query{Days: days, By: limit.ScopeKind(k)})
			return err
		})
	}
	if err := reading.Wait(); err != nil {
		return nil, err
	}
	added := map[DayBy]*adder{}
	for _, day := range days {
		for _, by := range summed {
			added[DayBy{day, by}] = &adder{}
		}
	}
	for _, list := range lists {
		for i := range list {
			row := &list[i]
			for _, by := range summed {
				if part := partOf(row); part != by && (part != "" || parts[by] != limit.ScopeTeam) {
					continue
				}
				added[DayBy{row.Day, by}].addRow(row, by, 1)
			}
		}
	}
	sums := make(map[DayBy]Sum, len(added))
	for of, a := range added {
		sums[of] = sumOf(of.By, versions[of.Day], made, a)
	}
	return sums, nil
}

const (
	mostModels = 1000 // models of a day; the rest counts as other
	mostParts  = 1000 // tags or keys of a day; with more the day has no sum
)

// otherModel collects the models beyond mostModels, as in the ledger.
const otherModel = "other"

// sumOf makes a sum of added rows.
func sumOf(by string, version uint64, made time.Time, a *adder) Sum {
	rows, whole := a.sorted(), true
	switch {
	case by == "model" && len(rows) > mostModels:
		rest := adder{}
		for i := range rows {
			if i >= mostModels-1 {
				rows[i].Name = otherModel
			}
			rest.add(rows[i].Name, &rows[i].Use)
		}
		rows = rest.rows
	case parts[by] != limit.ScopeTeam && len(rows) > mostParts:
		rows, whole = nil, false
	}
	slices.SortFunc(rows, compareName)
	return newSum(version, made, rows, whole)
}

// compareName orders the rows of sums by name: that makes adding them fast, because days have much the same names.
func compareName(a, b Row) int { return strings.Compare(a.Name, b.Name) }

// run makes sums until ctx ends.
func (l *ledger) run(ctx context.Context, panicked func(p any, stack string)) {
	wait := time.NewTimer(firstLook)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-wait.C:
		}
		wait.Reset(l.look(ctx, panicked))
	}
}

// look calls maintain and recovers its panic: outside a request nothing else does.
func (l *ledger) look(ctx context.Context, panicked func(p any, stack string)) (next time.Duration) {
	defer func() {
		if p := recover(); p != nil {
			panicked(p, string(debug.Stack()))
			next = failedFor
		}
	}()
	return l.maintain(ctx)
}

// maintain makes due sums, and returns the time until the next look.
func (l *ledger) maintain(ctx context.Context) time.Duration {
	due, versions, err := l.due(ctx)
	switch {
	case err != nil:
		return failedFor
	case len(due) == 0:
		return lookEvery
	}
	until := l.now().Add(leadFor - leadsLess)
	if leads, err := l.kept.Lead(ctx, leadFor); err != nil || !leads {
		return leadFor
	}
	for _, of := range due {
		begun := l.now()
		if !begun.Before(until) {
			return leadsLess
		}
		sums, err := l.renew(ctx, of, versions)
		if err == nil {
			err = l.kept.Save(ctx, sums)
		}
		if err != nil {
			return failedFor
		}
		select {
		case <-ctx.Done():
			return lookEvery
		case <-time.After(restTimes * l.now().Sub(begun)):
		}
	}
	return leadFor
}

// renew makes the sums of a day from its ledger, or those of a month from its days.
func (l *ledger) renew(ctx context.Context, of int, versions map[int]uint64) (map[DayBy]Sum, error) {
	if of > 999999 {
		return l.make(ctx, []int{of}, versions)
	}
	days := daysOf(of)
	sums, err := l.kept.Load(ctx, days, summed)
	return l.addUp(of, days, sums, append(slices.Clone(summed), "day"), versions), err
}

// due returns the past days whose sums are stale, and some whose sums have aged. If no day is stale, it also returns the months whose sums
// are stale or not newer than those of their days. If a version changes meanwhile, the sum is stale, and is made again later.
func (l *ledger) due(ctx context.Context) (list []int, versions map[int]uint64, err error) {
	_, past := l.split(lastDays(l.now(), limit.LedgerDays))
	months := map[int][]int{}
	for month, of := range byMonth(past) {
		months[month] = of
	}
	delete(months, 0)
	slices.Reverse(past)
	newest := []string{"endpoint", "account"} // an earlier version of Sluice made no sums by account
	sums, versions, err := l.load(ctx, past, months, newest)
	if err != nil {
		return nil, nil, err
	}
	var aged []int
	made := func(of int) time.Time { return sums[DayBy{of, "endpoint"}].Made }
	for _, day := range past {
		switch {
		case lacks(sums, day, newest, versions):
			list = append(list, day)
		case l.now().Sub(made(day)) >= ageing:
			aged = append(aged, day)
		}
	}
	slices.SortStableFunc(aged, func(a, b int) int { return made(a).Compare(made(b)) })
	renewed := aged[:min(len(aged), agedOnce)]
	if len(list) == 0 {
		for month, days := range months {
			if lacks(sums, month, newest, versions) || slices.ContainsFunc(days, func(day int) bool { return !made(month).After(made(day)) }) {
				renewed = append(renewed, month)
			}
		}
	}
	return append(list, renewed...), versions, nil
}
