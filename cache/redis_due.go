package cache

import (
	"context"
	"maps"
	"slices"
	"time"
)

// teamsEvery is how often teams that other replicas have are looked for.
const teamsEvery = time.Minute

// Due hands out tasks that have not ended and are due to be asked for, each to one replica for a while, also those of
// teams that are in no file any more, and those whose life is over without that anybody has heard of their end. Teams have
// equal parts of so many, and their turns in the list; two of those that go first stand before each of the others. One
// goroutine calls it.
func (r *Redis) Due(ctx context.Context, most int, first map[string]bool) ([]Claim, error) {
	if err := r.findTeams(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	teams := slices.Collect(maps.Keys(r.teams))
	r.mu.Unlock()
	order := turnOrder(teams, first, r.round)
	r.round++
	taken := share(order, most, func(team string, n int) ([]Claim, bool) { return r.takeDue(ctx, team, n) })
	return inTurn(order, first, taken), nil
}

// takeDue hands out tasks of a team, and reports whether it may have more. One whose shard is away has none: the others'
// are finished.
func (r *Redis) takeDue(ctx context.Context, team string, most int) (list []Claim, more bool) {
	ids, err := r.run(ctx, dueScript, []string{dueKey(team)}, most, handed.Microseconds()).StringSlice()
	if err != nil || len(ids) == 0 {
		return nil, false
	}
	claims, err := r.readAll(ctx, team, ids)
	if err != nil {
		return nil, false
	}
	for i, claim := range claims {
		if claim == nil {
			_ = r.Forget(ctx, &Claim{Team: team, Task: ids[i]})
			continue
		}
		list = append(list, *claim)
	}
	return list, len(ids) == most
}

// findTeams looks for teams that have tasks, now and then.
func (r *Redis) findTeams(ctx context.Context) error {
	r.mu.Lock()
	old := r.Now().Sub(r.found) >= teamsEvery
	r.mu.Unlock()
	if !old {
		return nil
	}
	names, err := r.allTeams(ctx)
	if err != nil {
		return err
	}
	keys := make([]string, len(names))
	for i, team := range names {
		keys[i] = dueKey(team)
	}
	counts := r.sizes(ctx, keys)
	r.met(names)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = r.Now()
	for i, team := range names {
		switch {
		case counts[i] > 0:
			r.teams[team] = true
		case counts[i] == 0:
			delete(r.teams, team)
		}
	}
	return nil
}

// Schedule sets when a task that has not ended is due.
func (r *Redis) Schedule(ctx context.Context, claim *Claim, at time.Time) error {
	return r.reschedule(ctx, dueKey(claim.Team), claim.Task, at.Sub(r.Now()))
}

// Forget hands a task out no more.
func (r *Redis) Forget(ctx context.Context, claim *Claim) error {
	return r.remove(ctx, dueKey(claim.Team), claim.Task)
}
