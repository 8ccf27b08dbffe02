package figures

import (
	"context"
	"maps"
	"slices"
	"time"

	"sluice/gateway/console/figures/daily"
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
	kept, err := s.kept.Load(ctx, past, []daily.By{daily.ByEndpoint})
	if err != nil {
		return nil, err
	}
	var aged []int
	made := func(day int) time.Time { return kept[daily.Of{Day: day, By: daily.ByEndpoint}].Made }
	for _, day := range past {
		if sum, found := kept[daily.Of{Day: day, By: daily.ByEndpoint}]; !found || sum.Version != versions[day] {
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
	maps.DeleteFunc(s.copies, func(of daily.Of, _ dayCopy) bool { return of.Day < first })
}
