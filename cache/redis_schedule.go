package cache

import (
	"context"
	"time"
)

// redisSchedule hands out the tasks that the finisher asks the service about.
type redisSchedule struct {
	*store
	reader *redisReader
	losses *losses
	teams  *openTeams
	round  int // how often the finisher came; Due's alone
}

// Due hands out tasks that have not ended and are due to be asked for, each to one replica for a while, also those of
// teams that are in no file any more, and those whose life is over without that anybody has heard of their end. Teams have
// equal parts of so many, and their turns in the list; two of those that go first stand before each of the others. One
// goroutine calls it.
func (s *redisSchedule) Due(ctx context.Context, most int, first map[string]bool) ([]Claim, error) {
	if err := s.findTeams(ctx); err != nil {
		return nil, err
	}
	order := turnOrder(s.teams.list(), first, s.round)
	s.round++
	taken := share(order, most, func(team string, n int) ([]Claim, bool) { return s.takeDue(ctx, team, n) })
	return inTurn(order, first, taken), nil
}

// takeDue hands out tasks of a team, and reports whether it may have more. One whose shard is away has none: the others'
// are finished.
func (s *redisSchedule) takeDue(ctx context.Context, team string, most int) (list []Claim, more bool) {
	ids, err := s.run(ctx, dueScript, []string{dueKey(team)}, most, handed.Microseconds()).StringSlice()
	if err != nil || len(ids) == 0 {
		return nil, false
	}
	claims, err := s.reader.readAll(ctx, team, ids)
	if err != nil {
		return nil, false
	}
	for i, claim := range claims {
		if claim == nil {
			_ = s.Forget(ctx, &Claim{Team: team, Task: ids[i]})
			continue
		}
		list = append(list, *claim)
	}
	return list, len(ids) == most
}

// findTeams looks for teams that have tasks, now and then.
func (s *redisSchedule) findTeams(ctx context.Context) error {
	if !s.teams.old(s.Now()) {
		return nil
	}
	names, err := s.allTeams(ctx)
	if err != nil {
		return err
	}
	keys := make([]string, len(names))
	for i, team := range names {
		keys[i] = dueKey(team)
	}
	s.teams.found(s.Now(), names, s.sizes(ctx, keys))
	s.losses.watch(names)
	return nil
}

// Schedule sets when a task that has not ended is due.
func (s *redisSchedule) Schedule(ctx context.Context, claim *Claim, at time.Time) error {
	return s.reschedule(ctx, dueKey(claim.Team), claim.Task, at.Sub(s.Now()))
}

// Forget hands a task out no more.
func (s *redisSchedule) Forget(ctx context.Context, claim *Claim) error {
	return s.remove(ctx, dueKey(claim.Team), claim.Task)
}
