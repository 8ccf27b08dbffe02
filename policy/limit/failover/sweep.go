package failover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

const (
	sweepEvery = time.Minute
	sweepHolds = 1000 // of a team that are charged in one call
	sweepTeams = 200  // swept in one round, so that the other work is not late
)

// sweeper expires holds, and counts the open ones.
type sweeper struct {
	*accounts
	at     time.Time
	rest   []string                   // teams that are left for the next rounds
	open   map[string]limit.OpenHolds // of the teams that were swept
	listed map[string]bool            // teams that were in Redis's list
	walked atomic.Pointer[walk]       // nil: not yet
}

// walk is the open holds that a sweep over all teams has seen.
type walk struct {
	limit.OpenHolds                            // of all teams, and of this process without Redis
	teams           map[string]limit.OpenHolds // of each team in Redis, as it was last seen
	at              time.Time
}

// names reads Redis's lists of accounts, and restores those that it has lost. In a cluster the lists are in another
// part than most teams.
func (s *sweeper) names(ctx context.Context) (teams []string, err error) {
	err = s.call(ctx, func(ctx context.Context) (err error) {
		teams, err = s.Store.Accounts(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	lost := maps.Clone(s.listed)
	s.teams.Each(func(team string, b *books) {
		if b.listed.Load() {
			lost[team] = true
		}
	})
	for _, team := range teams {
		s.listed[team] = true
		delete(lost, team)
	}
	if len(lost) == 0 {
		return teams, nil
	}
	back := slices.Collect(maps.Keys(lost))
	if err := s.call(ctx, func(ctx context.Context) error { return s.Store.List(ctx, back...) }); err != nil {
		return teams, err
	}
	err = fmt.Errorf("Redis lost its list of teams; %d that are known here were restored", len(back)) //nolint:staticcheck // a name
	return append(teams, back...), err
}

// sweep expires the holds of some teams, and counts the open ones. Each team is swept once a minute, or as often as possible.
func (s *sweeper) sweep(ctx context.Context) (err error) {
	now := s.Now()
	var before map[string]limit.OpenHolds
	if w := s.walked.Load(); w != nil {
		before = w.teams
	}
	if len(s.rest) == 0 {
		if now.Sub(s.at) < sweepEvery {
			return nil
		}
		s.at = now
		if s.rest, err = s.names(ctx); len(s.rest) == 0 && err != nil {
			if before != nil { // count at least what is held here
				s.countOpen(before)
			}
			return err
		}
		s.open = make(map[string]limit.OpenHolds, len(s.rest))
	}
	n := min(sweepTeams, len(s.rest))
	var mu sync.Mutex
	err = errors.Join(err, s.atOnce(s.rest[:n], func(team string) error {
		o, err := s.sweepTeam(ctx, team)
		if err != nil && o.Count == 0 {
			o = before[team]
		}
		mu.Lock()
		s.open[team] = o
		mu.Unlock()
		return err
	}))
	if s.rest = s.rest[n:]; len(s.rest) == 0 {
		s.countOpen(s.open)
	}
	return err
}

// sweepTeam expires the holds of a team, counts the open ones, and finds out which of this process's holds other replicas have
// settled.
func (s *sweeper) sweepTeam(ctx context.Context, team string) (o limit.OpenHolds, err error) {
	err = s.call(ctx, func(ctx context.Context) error {
		b := s.teams.Get(team)
		if err := s.ensureRestored(ctx, s.patience(), team, b); err != nil { // so that this process can restore what the sweep reads
			return err
		}
		ctx, ended := s.charge(ctx, b.restored.Load())
		defer ended()
		if _, err := s.Store.Sweep(ctx, team, sweepHolds); err != nil {
			return err
		}
		if o, err = s.Store.OpenHolds(ctx, team); err != nil {
			return err
		}
		return s.Store.CheckOwn(ctx, team)
	})
	return o, err
}

// countOpen adds up what is open: of each team in Redis, and here.
func (s *sweeper) countOpen(open map[string]limit.OpenHolds) {
	w := &walk{teams: open, at: s.Now()}
	for id, o := range open {
		if !teams.IsOutside(id) { // its holds are the teams'
			w.Add(o)
		}
	}
	s.teams.Each(func(id string, b *books) {
		if !teams.IsOutside(id) {
			w.Add(b.openHolds())
		}
	})
	s.walked.Store(w)
}
