package tasks

import (
	"context"
	"time"

	"sluice/cache"
)

// turn takes the turn to query the service about a task, once among all replicas and within the account's rate. If it is Mine,
// the caller MUST make the query, and then hear an answer or release the task. spare: leave room in the rate for others. blind:
// the caller may query even if Redis is away.
func (t *Tasks) turn(ctx context.Context, claim *cache.Claim, spare, blind bool) cache.Turn {
	turn, err := t.deps.Claims.Take(ctx, claim.Team, claim.Task)
	switch {
	case err != nil && !blind:
		return cache.Resting
	case err == nil && turn != cache.Mine:
		return turn
	}
	if allowed, err := t.deps.Queries.Allow(ctx, claim.Team, spare); err == nil && !allowed || err != nil && !blind {
		t.release(ctx, claim, 0)
		return cache.Resting
	}
	return cache.Mine
}

// release lets others query a task after that time.
func (t *Tasks) release(ctx context.Context, claim *cache.Claim, after time.Duration) {
	t.deps.Claims.Release(ctx, claim.Team, claim.Task, after)
}
