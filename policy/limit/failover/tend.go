package failover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
)

const (
	sweepEvery = time.Minute
	sweepHolds = 1000 // of a team that are charged in one call
	sweepTeams = 200  // that are looked at in one turn, so that the other work is not late
)

// tended is what the one goroutine that tends remembers.
type tended struct {
	swept  time.Time
	rest   []string                   // of the teams, to be swept in the next turns
	open   map[string]limit.OpenHolds // of those that were
	named  map[string]bool            // teams that are in Redis's list, or were when it was last read
	memory int64                      // of Redis, that the list is in
}

// Tend does what is due and no request waits for: it posts what waits, tells Redis what was spent without it, renews the
// allowances of teams that are active, charges holds whose lease has ended, also of teams that are in no file any more, and
// counts those that are open.
// One goroutine calls it, every second or so. Its errors are news; that Redis is away is not among them.
func (s *Failover) Tend(ctx context.Context) error {
	now := s.Now()
	errs := s.queue.lostError()
	// Each step for itself: in a cluster a part of Redis may be away.
	err := errors.Join(s.remember(ctx), s.queue.retry(ctx))
	if s.away.Load() == nil || s.Store.Parted() { // else an allowance would only shrink
		err = errors.Join(err, s.renewAll(ctx))
	}
	err = errors.Join(err, s.sweepSome(ctx, now))
	if s.away.Load() != nil || errors.Is(err, limit.ErrAway) {
		return errs // who builds the client tells of that
	}
	return errors.Join(errs, err)
}

// name puts teams into Redis's list.
func (s *Failover) name(ctx context.Context, teams []string) error {
	if len(teams) == 0 {
		return nil
	}
	err := s.call(ctx, func(ctx context.Context) error { return s.reach(ctx, teams) })
	if err != nil {
		return err
	}
	for _, team := range teams {
		s.tended.named[team] = true
	}
	return nil
}

// listed reads Redis's list of teams, and puts back those that it has lost: it may lie on another part of Redis than their
// accounts do.
func (s *Failover) listed(ctx context.Context) (teams []string, err error) {
	err = s.call(ctx, func(ctx context.Context) (err error) {
		teams, err = s.Store.Teams(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	gone := maps.Clone(s.tended.named)
	for _, team := range teams {
		s.tended.named[team] = true
		delete(gone, team)
	}
	if len(gone) == 0 {
		return teams, nil
	}
	back := slices.Collect(maps.Keys(gone))
	if err := s.name(ctx, back); err != nil {
		return teams, err
	}
	return append(teams, back...), fmt.Errorf("Redis lost its list of teams; %d that are known here were put back", len(back))
}

// sweepSome charges the holds whose lease has ended of some teams, and counts those that are open. All teams have their turn once
// a minute, or as often as can be.
func (s *Failover) sweepSome(ctx context.Context, now time.Time) (err error) {
	t := &s.tended
	var before map[string]limit.OpenHolds
	if w := s.walked.Load(); w != nil {
		before = w.teams
	}
	if len(t.rest) == 0 {
		if now.Sub(t.swept) < sweepEvery {
			return nil
		}
		t.swept = now
		if t.rest, err = s.listed(ctx); len(t.rest) == 0 && err != nil {
			if before != nil { // what is held here meanwhile is told all the same
				s.countOpen(before)
			}
			return err
		}
		t.open = make(map[string]limit.OpenHolds, len(t.rest))
	}
	n := min(sweepTeams, len(t.rest))
	var mu sync.Mutex
	err = errors.Join(err, atOnce(t.rest[:n], func(team string) error {
		o, failed := s.sweepTeam(ctx, team)
		if failed != nil && o.Count == 0 {
			o = before[team]
		}
		mu.Lock()
		t.open[team] = o
		mu.Unlock()
		return errors.Join(failed, s.checkOwn(ctx, team))
	}))
	if t.rest = t.rest[n:]; len(t.rest) == 0 {
		s.countOpen(t.open)
	}
	return err
}

// sweepTeam charges the holds of a team whose lease has ended, and counts those that are open.
func (s *Failover) sweepTeam(ctx context.Context, team string) (o limit.OpenHolds, err error) {
	err = s.call(ctx, func(ctx context.Context) error {
		if err := s.meet(ctx, team, s.teams.Get(team)); err != nil { // what the sweep tells is put back, too, should Redis forget it
			return err
		}
		if _, err := s.Store.Sweep(ctx, team, sweepHolds); err != nil {
			return err
		}
		o, err = s.Store.OpenHolds(ctx, team)
		return err
	})
	return o, err
}

// atOnce does something for several teams at a time, so that a slow network holds up nothing else.
func atOnce(teams []string, do func(team string) error) (errs error) {
	var mu sync.Mutex
	var working sync.WaitGroup
	room := make(chan struct{}, 16)
	for _, team := range teams {
		room <- struct{}{}
		working.Go(func() {
			err := do(team)
			mu.Lock()
			defer mu.Unlock()
			errs = errors.Join(errs, err)
			<-room
		})
	}
	working.Wait()
	return errs
}

// checkOwn looks which of the holds that this process placed others have ended, and puts back all where Redis lost them.
func (s *Failover) checkOwn(ctx context.Context, team string) error {
	lost := false
	err := s.call(ctx, func(ctx context.Context) (err error) {
		lost, err = s.Store.CheckOwn(ctx, team)
		return err
	})
	if err != nil || !lost {
		return err
	}
	return s.call(ctx, func(ctx context.Context) error { return s.Store.Restore(ctx, team, redisstore.Loss{}) })
}

// call makes a call that no request waits for.
func (s *Failover) call(ctx context.Context, do func(context.Context) error) error {
	call, cancel := context.WithTimeout(ctx, s.patience())
	defer cancel()
	err := do(call)
	if err == nil || ctx.Err() == nil { // where the caller's own time was over, nothing is known of Redis
		s.heard(err)
	}
	return err
}

// patience is how long a call may take that no request waits for.
func (s *Failover) patience() time.Duration { return max(s.Timeout, time.Second) }
