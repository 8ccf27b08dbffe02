package figures

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/policy/limit"
)

// The ledger of all teams is large: four hundred days of a thousand teams are 400,000 hashes in Redis. A page reads the days that may
// still change from it. Of the others it reads sums, which are kept. A change of such a day raises the day's version in the ledger, so
// that the sum is made again.
const (
	freshFor   = 2 * time.Second       // a copy of a day that may change, and the versions of the others; many consoles share one reading
	unusedFor  = time.Hour             // after that long without a reader copies are dropped
	copiedFor  = time.Hour             // a copy of a sum that is kept: it may have been made again
	patience   = 60 * time.Millisecond // for which a reader makes sums that are missing; then it is told to come again
	readAtOnce = 31                    // days of all teams: what is read is in memory for a moment
)

// AddingError says that sums of days are not there yet. They are being made.
type AddingError struct{ Missing, Days int }

func (e *AddingError) Error() string {
	return fmt.Sprintf("the sums of %d of %d days are being made", e.Missing, e.Days)
}

// sums are what all teams used, by day.
type sums struct {
	accounts Ledger
	kept     Keeper // nil: the ledger is in this process
	now      func() time.Time
	late     time.Duration
	memory   func() int64  // numbers the memories that kept is of
	wake     chan struct{} // a reader misses sums

	mu       sync.Mutex // held while something is read, so that readers share it
	copies   map[DayBy]dayCopy
	versions map[int]uint64
	checked  time.Time // when versions were read
	used     time.Time // when a reader last came
	seen     int64     // the memory that the copies are of
}

// dayCopy is a copy of a sum in this process.
type dayCopy struct {
	Sum
	read time.Time
	over bool // of a day that was over when it was read
}

func newSums(accounts Ledger, kept Keeper, now func() time.Time, late time.Duration, memory func() int64) *sums {
	return &sums{accounts: accounts, kept: kept, now: now, late: late, memory: memory, wake: make(chan struct{}, 1), copies: map[DayBy]dayCopy{}}
}

// of returns the sums of days.
func (s *sums) of(ctx context.Context, days []int, by ...string) (sumBook, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = s.now()
	s.renewMemory()
	open, past := s.split(days)
	var fresh, loaded map[DayBy]dayCopy
	var versions map[int]uint64
	var reading errgroup.Group
	reading.Go(func() (err error) {
		fresh, err = s.make(ctx, s.stale(open, by), nil, slices.Contains(by, "tag"))
		return err
	})
	reading.Go(func() (err error) { versions, err = s.check(ctx, past); return err })
	reading.Go(func() (err error) { loaded, err = s.load(ctx, s.missing(past, by, nil), by); return err })
	if err := reading.Wait(); err != nil {
		return nil, err
	}
	s.keep(fresh, loaded)
	s.versions = versions
	if err := s.complete(ctx, past, by, len(loaded) > 0); err != nil {
		return nil, err
	}
	b := make(sumBook, len(days)*len(by))
	for _, day := range days {
		for _, by := range by {
			c, found := s.copies[DayBy{Day: day, By: by}]
			c.Whole = c.Whole || !found // the ledger has nothing
			b[DayBy{Day: day, By: by}] = c.Sum
		}
	}
	return b, nil
}

// renewMemory drops copies if Redis has lost its memory or gone back to an older one. Versions do not tell that: most days have none.
func (s *sums) renewMemory() {
	if seen := s.memory(); seen != s.seen {
		clear(s.copies)
		s.seen, s.checked = seen, time.Time{}
	}
}

// split divides days into those that are read from the ledger each time and those that are over. Sums are kept as long as the ledger
// surely is; days long before and after have none.
func (s *sums) split(days []int) (open, past []int) {
	at := s.now()
	kept := dayOf(at.AddDate(0, 0, 1-limit.LedgerDays))
	first, last := dayOf(at.AddDate(0, 0, -1-limit.LedgerDays)), dayOf(at.AddDate(0, 0, 1))
	for _, day := range days {
		switch {
		case day < first || day > last:
		case day >= kept && s.over(day, at):
			past = append(past, day)
		default:
			open = append(open, day)
		}
	}
	return open, past
}

// over reports whether at a moment requests of a day are usually charged no more. A correction by hand is one of its own day.
func (s *sums) over(day int, at time.Time) bool {
	ends := time.Date(day/10000, time.Month(day/100%100), day%100+1, 0, 0, 0, 0, time.UTC)
	return at.Sub(ends) > s.late+time.Hour
}

// stale lists the days that may change and have to be read again.
func (s *sums) stale(open []int, by []string) []int {
	return slices.DeleteFunc(open, func(day int) bool {
		for _, by := range by {
			if c, found := s.copies[DayBy{Day: day, By: by}]; !found || s.now().Sub(c.read) >= freshFor {
				return false
			}
		}
		return true
	})
}

// missing lists the days that are over of which a copy is missing, or is of another version than these; nil: of any version.
func (s *sums) missing(past []int, by []string, versions map[int]uint64) (list []int) {
	for _, day := range past {
		if slices.ContainsFunc(by, func(by string) bool {
			c, found := s.copies[DayBy{Day: day, By: by}]
			return !found || !c.over || versions != nil && c.Version != versions[day] || s.kept != nil && s.now().Sub(c.read) >= copiedFor
		}) {
			list = append(list, day)
		}
	}
	return list
}

// check returns the versions of days that are over, as they were read a moment ago.
func (s *sums) check(ctx context.Context, past []int) (map[int]uint64, error) {
	at := s.now()
	if at.Sub(s.checked) < freshFor && !slices.ContainsFunc(past, func(day int) bool { _, known := s.versions[day]; return !known }) {
		return s.versions, nil
	}
	versions, err := s.versionsOf(ctx, past)
	if err == nil {
		s.checked = at
	}
	return versions, err
}

func (s *sums) versionsOf(ctx context.Context, past []int) (map[int]uint64, error) {
	versions := make(map[int]uint64, len(past))
	if len(past) == 0 {
		return versions, nil
	}
	list, err := s.accounts.Versions(ctx, past)
	for i, day := range past[:min(len(past), len(list))] {
		versions[day] = list[i]
	}
	return versions, err
}

// load reads sums that are kept.
func (s *sums) load(ctx context.Context, days []int, by []string) (map[DayBy]dayCopy, error) {
	copies := map[DayBy]dayCopy{}
	if s.kept == nil || len(days) == 0 {
		return copies, nil
	}
	at := s.now()
	kept, err := s.kept.Load(ctx, days, by)
	for of, sum := range kept {
		copies[of] = dayCopy{sum, at, true}
	}
	return copies, err
}

func (s *sums) keep(lists ...map[DayBy]dayCopy) {
	for _, list := range lists {
		for of, c := range list {
			s.copies[of] = c
		}
	}
}

// complete makes sure that the copies of days that are over are of the days' versions.
func (s *sums) complete(ctx context.Context, past []int, by []string, loaded bool) error {
	missing := s.missing(past, by, s.versions)
	if len(missing) > 0 && !loaded { // another replica may have made the sums again
		copies, err := s.load(ctx, missing, by)
		if err != nil {
			return err
		}
		s.keep(copies)
		missing = s.missing(past, by, s.versions)
	}
	begun, n := s.now(), 2
	if s.kept == nil {
		n = readAtOnce
	}
	for ; len(missing) > 0; n = min(2*n, readAtOnce) {
		some := missing[:min(n, len(missing))]
		copies, err := s.make(ctx, some, s.versions, true)
		if err != nil {
			return err
		}
		s.keep(copies)
		missing = missing[len(some):]
		if s.kept == nil {
			continue
		}
		_ = s.save(ctx, copies) // without it the next reader makes them again
		if took := s.now().Sub(begun); len(missing) > 0 && 2*took > patience {
			s.tell()
			return &AddingError{len(missing), len(past)}
		}
	}
	return nil
}

// tell has the sums that are missing made.
func (s *sums) tell() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look
	}
}

func (s *sums) save(ctx context.Context, copies map[DayBy]dayCopy) error {
	byDay := map[int]map[string]Sum{}
	for of, c := range copies {
		if byDay[of.Day] == nil {
			byDay[of.Day] = map[string]Sum{}
		}
		byDay[of.Day][of.By] = c.Sum
	}
	var failed error
	for day, list := range byDay {
		failed = errors.Join(failed, s.kept.Save(ctx, day, list))
	}
	return failed
}
