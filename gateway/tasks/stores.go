package tasks

import (
	"context"
	"time"

	"sluice/cache"
)

// Claims keeps whose task is whose and what was last heard of each. Two forms of it are in package cache: in this process's
// memory, and in Redis. Its methods are called from any goroutine. An error means that nobody can tell at the moment; no
// method changes anything then.
type Claims interface {
	Known
	Turns
	Agenda
}

// Known keeps the tasks.
type Known interface {
	// Put MUST make the task its team's before it returns, whatever is away: the task is paid for. It MUST leave a task that
	// another team has claimed as it is, and return false.
	Put(ctx context.Context, claim cache.Claim) bool
	// Get MUST return the team's claim with the last answer that any replica has heard, and false for an absent task,
	// an expired one, and another team's.
	Get(ctx context.Context, team, task string) (cache.Claim, bool, error)
	// List MUST return a page of the team's tasks, newest first, and how many there are.
	List(ctx context.Context, team string, f cache.Filter) ([]cache.Claim, int, error)
	// Hear MUST keep an answer unless a later state is known, and return the claim as it stands.
	Hear(ctx context.Context, claim *cache.Claim, answer cache.Answer, body []byte, asks int) (cache.Claim, error)
}

// Turns keeps replicas from asking about a task at the same time.
type Turns interface {
	// Take MUST let one caller of all replicas ask upstream about a task, until the answer is heard, the task is released,
	// or a while has passed.
	Take(ctx context.Context, team, task string) (cache.Turn, error)
	// Release MUST let others ask again once that long has passed.
	Release(ctx context.Context, team, task string, after time.Duration)
}

// Agenda keeps when tasks are asked for that no client polls.
type Agenda interface {
	// Due MUST hand each task that is due to be asked for, or has outlived its life, to one caller, and again if nothing is
	// heard for a while. It MUST give each team its part, and put two of those that go first before each of the others.
	Due(ctx context.Context, most int, first map[string]bool) ([]cache.Claim, error)
	// Schedule MUST set when a task that has not ended is due.
	Schedule(ctx context.Context, claim *cache.Claim, at time.Time) error
	// Forget MUST hand a task out no more.
	Forget(ctx context.Context, claim *cache.Claim) error
	// Tend MUST do what could not be done before. One goroutine calls it.
	Tend(ctx context.Context) error
}

// Rate keeps the account's rate of task queries, or of cancels.
type Rate interface {
	// Allow MUST keep all replicas together within the rate, and no team from its share of it. With spare it MUST leave
	// room for others. Its error means that nobody can tell.
	Allow(ctx context.Context, team string, spare bool) (bool, error)
}
