package tasks

import (
	"context"

	"sluice/cache"
	"sluice/telemetry"
)

// MayCancel takes one cancel from the account's rate of cancels, and reports whether the team got one. The service counts
// cancels apart from queries.
func (t *Tasks) MayCancel(ctx context.Context, team string) bool {
	allowed, err := t.deps.Cancels.Allow(ctx, team, !t.cancels.first(team, t.deps.Now()))
	return err != nil || allowed
}

// Look queries a task's state even if the last answer is fresh, for the cancel of a client. It makes no query if another one
// runs or has just failed; Took is then 0.
func (t *Tasks) Look(ctx context.Context, claim cache.Claim, cancel telemetry.Span) PollAnswer {
	last := PollAnswer{Claim: claim, Source: Stale}
	if turn, _ := t.turn(ctx, &claim, false, true); turn != cache.Mine {
		return last
	}
	return t.query(ctx, last, Origin{Span: cancel})
}
