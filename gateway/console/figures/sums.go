package figures

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/policy/limit"
)

// Sums of past days are kept. A change of such a day increments its version in the ledger, so that its sums are made again. They
// are made ahead, by one replica at a time, one day after another, the newest first.
const (
	patience  = 60 * time.Millisecond // how long a reader makes missing sums, before it is asked to retry
	firstLook = 3 * time.Second       // after the start
	lookEvery = 10 * time.Minute
	failedFor = time.Minute      // after a failure
	leadFor   = 10 * time.Second // of one process
	leadsLess = 2 * time.Second  // before that it lets go
	restTimes = 4                // the pause after each day, as a multiple of its time: Redis and the process serve others too
	ageing    = 24 * time.Hour   // then a sum is made again, because other tools may have changed the ledger
	agedOnce  = 4                // of those per look, so that each gets its turn within a day
)

// AddingError reports that sums of days are missing and being made.
type AddingError struct{ Missing, Days int }

func (e *AddingError) Error() string {
	return fmt.Sprintf("the sums of %d of %d days are being made", e.Missing, e.Days)
}

// sums returns the sums of past days. It makes a few missing ones.
func (l *ledger) sums(ctx context.Context, days []int, by []string) (map[DayBy]Sum, error) {
	if len(days) == 0 {
		return nil, nil
	}
	sums, versions, err := l.load(ctx, days, by)
	if err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(days), func(day int) bool {
		return !slices.ContainsFunc(by, func(by string) bool { return isStale(sums, DayBy{day, by}, versions) })
	})
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
			default: // it will look
			}
			return nil, &AddingError{len(missing), len(days)}
		}
	}
	return sums, nil
}

// isStale reports whether a sum is missing, or is of another version of its day.
func isStale(sums map[DayBy]Sum, of DayBy, versions map[int]uint64) bool {
	sum, found := sums[of]
	return !found || sum.Version != versions[of.Day]
}

// load reads the stored sums of days, and the days' versions.
func (l *ledger) load(ctx context.Context, days []int, by []string) (sums map[DayBy]Sum, versions map[int]uint64, err error) {
	var reading errgroup.Group
	reading.Go(func() (err error) { sums, err = l.kept.Load(ctx, days, by); return err })
	reading.Go(func() (err error) { versions, err = l.versionsOf(ctx, days); return err })
	return sums, versions, reading.Wait()
}

func (l *ledger) versionsOf(ctx context.Context, days []int) (map[int]uint64, error) {
	versions := make(map[int]uint64, len(days))
	list, err := l.versions(ctx, days)
	for i, version := range list {
		versions[days[i]] = version
	}
	return versions, err
}

// make adds up days of the ledger. The versions were read before.
func (l *ledger) make(ctx context.Context, days []int, versions map[int]uint64) (map[DayBy]Sum, error) {
	made := l.now()
	var lists [limit.TeamScopes][]limit.Row
	var reading errgroup.Group
	for k := range lists {
		reading.Go(func() (err error) {
			lists[k], err = l.accounts.Rows(ctx, limit.Query{Days: days, By: limit.ScopeKind(k)})
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
				for of := range rowsOf(row, by) {
					added[DayBy{row.Day, by}].add(of.Name, &of.Use)
				}
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
	mostModels = 1000 // of a day; the rest counts as other
	mostParts  = 1000 // tags or keys of a day; the sum of one with more is not kept
)

// otherModel is the name of models beyond the bound, as in the ledger.
const otherModel = "other"

// sumOf returns the sum of added rows.
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
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.Name, b.Name) }) // days have much the same names
	return newSum(version, made, rows, whole)
}

// run makes sums until ctx ends.
func (l *ledger) run(ctx context.Context) {
	wait := time.NewTimer(firstLook)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-wait.C:
		}
		wait.Reset(l.maintain(ctx))
	}
}

// maintain makes missing sums, and returns the time until the next look.
func (l *ledger) maintain(ctx context.Context) time.Duration {
	if l.kept == nil {
		return lookEvery
	}
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
	for _, day := range due {
		begun := l.now()
		if !begun.Before(until) {
			return leadsLess
		}
		sums, err := l.make(ctx, []int{day}, versions)
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

// due lists the past days whose sum is missing or of another version, and some whose sums are old. If a version changes
// meanwhile, the sum is merely stale, and is made again.
func (l *ledger) due(ctx context.Context) (list []int, versions map[int]uint64, err error) {
	_, past := l.split(lastDays(l.now(), limit.LedgerDays))
	slices.Reverse(past)
	newest := []string{"endpoint", "account"} // a version before has no sums by account
	sums, versions, err := l.load(ctx, past, newest)
	if err != nil {
		return nil, nil, err
	}
	var aged []int
	made := func(day int) time.Time { return sums[DayBy{day, "endpoint"}].Made }
	for _, day := range past {
		switch {
		case slices.ContainsFunc(newest, func(by string) bool { return isStale(sums, DayBy{day, by}, versions) }):
			list = append(list, day)
		case l.now().Sub(made(day)) >= ageing:
			aged = append(aged, day)
		}
	}
	slices.SortStableFunc(aged, func(a, b int) int { return made(a).Compare(made(b)) })
	return append(list, aged[:min(len(aged), agedOnce)]...), versions, nil
}
