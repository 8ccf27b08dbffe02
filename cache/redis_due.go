package cache

import (
	"context"
	"time"
)

// teamsEvery is how often teams that other replicas have are looked for.
const teamsEvery = time.Minute

// Due hands out tasks that have not ended and are due to be asked for, each to one replica for a while, also those of
// teams that are in no file any more.
func (r *Redis) Due(ctx context.Context, most int) (list []Claim, err error) {
	if err := r.findTeams(ctx); err != nil {
		return nil, err
	}
	r.mu.Lock()
	teams := make([]string, 0, len(r.teams))
	for team := range r.teams {
		teams = append(teams, team)
	}
	r.mu.Unlock()
	for _, team := range teams {
		if len(list) >= most {
			break
		}
		ids, err := r.run(ctx, dueScript, []string{dueKey(team)}, most-len(list), handed.Microseconds()).StringSlice()
		if err != nil || len(ids) == 0 {
			continue // of a shard that is away, the others' are finished
		}
		claims, err := r.readAll(ctx, team, ids)
		if err != nil {
			continue
		}
		for i, claim := range claims {
			if claim == nil {
				_ = r.Forget(ctx, &Claim{Team: team, Task: ids[i]})
				continue
			}
			list = append(list, *claim)
		}
	}
	return list, nil
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
