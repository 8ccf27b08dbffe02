package limit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	refreshEvery = 5 * time.Second  // how old what is known of an active team's quotas may get
	activeFor    = 10 * time.Minute // after its last request
	sweepEvery   = time.Minute
)

// tended is what the one goroutine that tends remembers.
type tended struct {
	refreshed, swept time.Time
	named            map[string]bool // teams that are in Redis's list, or were when it was last read
	epoch            string
}

// Tend does what is due and no request waits for: it posts what waits, brings teams back to Redis, refreshes what is
// known of those that are active, charges holds whose lease has ended, also of teams that are in no file any more, and
// counts those that are open.
// One goroutine calls it, every second or so. Its errors are news; that Redis is away is not among them.
func (s *Shared) Tend(ctx context.Context) error {
	now := s.Now()
	errs := s.queue.lostError()
	// Each step for itself: in a cluster a part of Redis may be away.
	err := errors.Join(s.remember(ctx), s.joinAll(ctx), s.queue.retry(ctx, ""))
	if now.Sub(s.tended.refreshed) >= refreshEvery {
		s.tended.refreshed = now
		err = errors.Join(err, s.refreshActive(ctx, now))
	}
	if now.Sub(s.tended.swept) >= sweepEvery {
		s.tended.swept = now
		err = errors.Join(err, s.sweepAll(ctx))
	}
	if s.away.Load() != nil || errors.Is(err, ErrAway) {
		return errs // who builds the client tells of that
	}
	return errors.Join(errs, err)
}

// remember names the teams that are new here in Redis's list, and notices when Redis has lost its memory: what is known
// here is put back then.
func (s *Shared) remember(ctx context.Context) error {
	var fresh []string
	s.teams.Range(func(team, _ any) bool {
		if !s.tended.named[team.(string)] {
			fresh = append(fresh, team.(string))
		}
		return true
	})
	epoch, err := s.name(ctx, fresh)
	if err != nil {
		return err
	}
	lost := s.tended.epoch != "" && s.tended.epoch != epoch
	s.tended.epoch = epoch
	if lost {
		return s.putBack(ctx)
	}
	return nil
}

// name puts teams into Redis's list, and returns the name of its memory.
func (s *Shared) name(ctx context.Context, teams []string) (epoch string, err error) {
	err = s.call(ctx, func(ctx context.Context) (err error) {
		epoch, err = s.Redis.begin(ctx, teams)
		return err
	})
	if err != nil {
		return "", err
	}
	for _, team := range teams {
		s.tended.named[team] = true
	}
	return epoch, nil
}

// listed reads Redis's list of teams, and puts back those that it has lost: it may lie on another part of Redis than their
// accounts do.
func (s *Shared) listed(ctx context.Context) (teams []string, err error) {
	err = s.call(ctx, func(ctx context.Context) (err error) {
		teams, err = s.Redis.teams(ctx)
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
	if _, err := s.name(ctx, back); err != nil {
		return teams, err
	}
	return append(teams, back...), fmt.Errorf("Redis lost its list of teams; %d that are known here were put back", len(back))
}

// putBack lists all teams again, and asks Redis for every one that was met here, which restores what it lost.
func (s *Shared) putBack(ctx context.Context) error {
	n := 0
	_, errs := s.name(ctx, slices.Collect(maps.Keys(s.tended.named)))
	s.teams.Range(func(_, v any) bool {
		if b := v.(*bridge); b.team.Load() != nil {
			errs = errors.Join(errs, s.refresh(ctx, b))
			n++
		}
		return true
	})
	return errors.Join(fmt.Errorf("Redis lost its memory; what was last known of %d teams was put back", n), errs)
}

func (s *Shared) refreshActive(ctx context.Context, now time.Time) (errs error) {
	s.teams.Range(func(_, v any) bool {
		b := v.(*bridge)
		team := b.team.Load()
		if team == nil || b.local.Load() {
			return true
		}
		if t := termsOf(team); b.stale(&t, now) {
			errs = errors.Join(errs, s.refresh(ctx, b))
		}
		return ctx.Err() == nil
	})
	return errs
}

// stale reports whether too little is known of an active team: of its limits, which each admission tells of, or, since
// its last request, of what else it used.
func (b *bridge) stale(t *terms, now time.Time) bool {
	seen, asked := time.Unix(0, b.seen.Load()), time.Unix(0, b.asked.Load())
	switch {
	case now.Sub(seen) > activeFor:
		return false
	case t.counts() && now.Sub(time.Unix(0, b.known.Load())) >= refreshEvery:
		return true
	}
	return seen.After(asked) && now.Sub(asked) >= refreshEvery
}

// sweepAll charges the holds whose lease has ended, team by team, and counts those that are open.
func (s *Shared) sweepAll(ctx context.Context) error {
	_ = s.standby.Tend(ctx) // it never fails
	teams, err := s.listed(ctx)
	var before map[string]openHolds
	if w := s.walked.Load(); w != nil {
		before = w.teams
	}
	if len(teams) == 0 && err != nil {
		if before != nil { // what is held here meanwhile is told all the same
			s.countOpen(before)
		}
		return err
	}
	open := make(map[string]openHolds, len(teams))
	for _, team := range teams {
		open[team] = before[team]
		err = errors.Join(err, s.call(ctx, func(ctx context.Context) error {
			if _, err := s.Redis.Sweep(ctx, team, tendBatch); err != nil {
				return err
			}
			o, err := s.Redis.openHolds(ctx, team)
			if err == nil {
				open[team] = o
			}
			return err
		}), s.checkOwn(ctx, team))
	}
	s.countOpen(open)
	return err
}

// checkOwn looks which of the holds that this process placed others have ended, and puts back all where Redis lost them.
func (s *Shared) checkOwn(ctx context.Context, team string) error {
	lost := false
	err := s.call(ctx, func(ctx context.Context) (err error) {
		lost, err = s.Redis.checkOwn(ctx, team)
		return err
	})
	if err != nil || !lost {
		return err
	}
	return s.refresh(ctx, s.bridge(team)) // it has holds here, so it was met
}
