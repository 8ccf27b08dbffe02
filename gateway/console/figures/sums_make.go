package figures

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/policy/limit"
)

// Sums are made ahead, by one replica at a time, one day after another, the newest first.
const (
	firstLook = 3 * time.Second // after the start
	lookEvery = 10 * time.Minute
	failedFor = time.Minute      // after a failure
	leadFor   = 10 * time.Second // of one process
	leadsLess = 2 * time.Second  // before that it lets go
	restTimes = 4                // the rest after each day, by what the day took: Redis and the process have others to serve
	ageing    = 24 * time.Hour   // then a sum is made again, because the ledger may have been changed by other hands
	agedOnce  = 4                // of those at a look, so that all have their turn in a day
)

// run makes sums until ctx ends.
func (s *sums) run(ctx context.Context) {
	wait := time.NewTimer(firstLook)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-wait.C:
		}
		wait.Reset(s.maintain(ctx))
	}
}

// maintain makes sums that are missing, and returns how long to wait for the next look.
func (s *sums) maintain(ctx context.Context) time.Duration {
	s.forget()
	if s.kept == nil {
		return lookEvery
	}
	due, err := s.due(ctx)
	if err != nil {
		return failedFor
	}
	if len(due) == 0 {
		return lookEvery
	}
	until := s.now().Add(leadFor - leadsLess)
	if leads, err := s.kept.Lead(ctx, leadFor); err != nil || !leads {
		return leadFor
	}
	for _, day := range due {
		if !s.now().Before(until) {
			return leadsLess
		}
		begun := s.now()
		if err := s.renew(ctx, day); err != nil {
			return failedFor
		}
		select {
		case <-ctx.Done():
			return lookEvery
		case <-time.After(restTimes * s.now().Sub(begun)):
		}
	}
	return leadFor
}

// renew makes the sums of one day.
func (s *sums) renew(ctx context.Context, day int) error {
	versions, err := s.versionsOf(ctx, []int{day})
	if err != nil {
		return err
	}
	copies, err := s.make(ctx, []int{day}, versions, true)
	if err != nil {
		return err
	}
	return s.save(ctx, copies)
}

// due lists the days that are over of which no sum is kept, or one of another version, and some whose sums are old.
func (s *sums) due(ctx context.Context) (list []int, err error) {
	_, past := s.split(lastDays(s.now(), limit.LedgerDays))
	slices.Reverse(past)
	versions, err := s.versionsOf(ctx, past)
	if err != nil {
		return nil, err
	}
	kept, err := s.kept.Load(ctx, past, []string{"endpoint"})
	if err != nil {
		return nil, err
	}
	var aged []int
	made := func(day int) time.Time { return kept[DayBy{day, "endpoint"}].Made }
	for _, day := range past {
		if sum, found := kept[DayBy{day, "endpoint"}]; !found || sum.Version != versions[day] {
			list = append(list, day)
		} else if s.now().Sub(sum.Made) >= ageing {
			aged = append(aged, day)
		}
	}
	slices.SortStableFunc(aged, func(a, b int) int { return made(a).Compare(made(b)) })
	return append(list, aged[:min(len(aged), agedOnce)]...), nil
}

// forget drops all copies after unusedFor without a reader, and always those of days that are too old.
func (s *sums) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Sub(s.used) >= unusedFor {
		clear(s.copies)
		return
	}
	first := lastDays(s.now(), limit.LedgerDays)[0]
	maps.DeleteFunc(s.copies, func(of DayBy, _ dayCopy) bool { return of.Day < first })
}

const (
	mostModels = 1000 // of a day; the rest counts as other
	mostTags   = 1000 // of a day; the sum of one with more is not kept
)

// otherModel is the name that the ledger, too, gives to models that are too many.
const otherModel = "other"

// make adds up days of the ledger. versions are those of days that are over, read before the ledger; nil: the days may change.
func (s *sums) make(ctx context.Context, days []int, versions map[int]uint64, tags bool) (map[DayBy]dayCopy, error) {
	copies := make(map[DayBy]dayCopy, len(summed)*len(days))
	if len(days) == 0 {
		return copies, nil
	}
	read := s.now()
	var rows, tagged []limit.Row
	ways := summed[:3]
	var reading errgroup.Group
	reading.Go(func() (err error) { rows, err = s.accounts.Rows(ctx, limit.Query{Days: days}); return err })
	if tags {
		ways = summed
		reading.Go(func() (err error) {
			tagged, err = s.accounts.Rows(ctx, limit.Query{Days: days, Tags: true})
			return err
		})
	}
	if err := reading.Wait(); err != nil {
		return nil, err
	}
	for of, a := range addUp(days, ways, rows, tagged) {
		copies[of] = dayCopy{sumOf(of.By, versions[of.Day], read, a), read, versions != nil}
	}
	return copies, nil
}

// addUp adds up rows of days in some ways. Those of tags are apart.
func addUp(days []int, ways []string, rows, tagged []limit.Row) map[DayBy]adder {
	added := map[DayBy]adder{}
	for _, day := range days {
		for _, by := range ways {
			added[DayBy{Day: day, By: by}] = adder{}
		}
	}
	for i := range rows {
		for _, by := range summed[:3] {
			added[DayBy{rows[i].Day, by}].add(nameOf(&rows[i], by), useOf(&rows[i]))
		}
	}
	for i := range tagged {
		added[DayBy{tagged[i].Day, "tag"}].add(tagged[i].Tag, useOf(&tagged[i]))
	}
	return added
}

// sumOf is a sum of what was added up.
func sumOf(by string, version uint64, made time.Time, a adder) Sum {
	rows, whole := a.rows(), true
	switch {
	case by == "model" && len(rows) > mostModels:
		rest := adder{}
		for i := range rows {
			if i >= mostModels-1 {
				rows[i].Name = otherModel
			}
			rest.add(rows[i].Name, rows[i].Use)
		}
		rows = rest.rows()
	case by == "tag" && len(rows) > mostTags:
		rows, whole = nil, false
	}
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.Name, b.Name) }) // days have much the same names
	return newSum(version, made, rows, whole)
}
