package tasks

import (
	"context"

	"sluice/cache"
	"sluice/telemetry"
)

// MayCancel takes a cancel of the account's rate of them, which the service counts apart from queries, and reports whether
// there was one for the team.
func (t *Tasks) MayCancel(ctx context.Context, team string) bool {
	allowed, err := t.deps.Cancels.Allow(ctx, team, !t.cancels.first(team, t.deps.Now()))
	return err != nil || allowed
}

// Look asks for a task's state although the last known one is fresh, if nobody is asking or has just asked in vain. Took is
// zero where it did not ask.
func (t *Tasks) Look(ctx context.Context, claim cache.Claim, cancel telemetry.Span) Told {
	last := Told{Claim: claim, Source: Stale}
	if t.turn(ctx, &claim, false, true) != cache.Mine {
		return last
	}
	return t.query(ctx, last, asker{span: cancel})
}
