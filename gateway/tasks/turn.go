package tasks

import (
	"context"
	"time"

	"sluice/cache"
)

// turn takes the turn to query the service about a task, once among all replicas and within the account's rate. If it is Mine,
// the caller MUST make the query, and then hear an answer or release the task. spare: leave room in the rate for others. blind:
// the caller may query even if Redis is away. noRate: the task rests because the rate has no query left.
func (t *Tasks) turn(ctx context.Context, claim *cache.Claim, spare, blind bool) (turn cache.Turn, noRate bool) {
	turn, err := t.deps.Claims.Take(ctx, claim.Team, claim.Task)
	switch {
	case err != nil && !blind:
		return cache.Resting, false
	case err == nil && turn != cache.Mine:
		return turn, false
	}
	if allowed, err := t.deps.Queries.Allow(ctx, claim.Team, spare); err == nil && !allowed || err != nil && !blind {
		t.release(ctx, claim, 0)
		return cache.Resting, err == nil
	}
	return cache.Mine, false
}

// release lets others query a task after that time.
func (t *Tasks) release(ctx context.Context, claim *cache.Claim, after time.Duration) {
	t.deps.Claims.Release(ctx, claim.Team, claim.Task, after)
}
