package cache

import (
	"context"
	"time"
)

// redisTurns lets one caller of all replicas query the service about a task.
type redisTurns struct{ *store }

// What stands at a task's turn.
const (
	turnBusy    = "asking"
	turnResting = "resting"
)

// Take lets one caller of all replicas query the service about a task, until the answer is heard or the task is released.
func (t *redisTurns) Take(ctx context.Context, team, task string) (Turn, error) {
	mine, err := t.setFirst(ctx, turnKey(team, task), turnBusy, turnTime)
	if err != nil || mine {
		return Mine, err
	}
	if state, _, err := t.get(ctx, turnKey(team, task)); err == nil && state == turnResting {
		return Resting, nil
	}
	return Busy, nil
}

// Release lets others query once that long has passed. If it fails, the turn ends by itself.
func (t *redisTurns) Release(ctx context.Context, team, task string, after time.Duration) {
	if after > 0 {
		_ = t.set(ctx, turnKey(team, task), turnResting, after)
	} else {
		_ = t.del(ctx, turnKey(team, task))
	}
}

// rest lets no caller query about a task that Redis lost. If it fails, the next look tries again.
func (t *redisTurns) rest(ctx context.Context, team, task string) {
	_, _ = t.setFirst(ctx, turnKey(team, task), turnResting, restoreDue)
}
