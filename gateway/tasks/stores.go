package tasks

import (
	"context"
	"time"

	"sluice/cache"
)

// Claims keeps the tasks of teams. Package cache has two forms: in this process's memory, and in Redis. Its methods are called
// from any goroutine. An error means that the state is not known at the moment, and that the method changed nothing.
type Claims interface {
	Known
	Turns
	Agenda
}

// Known keeps whose task is whose and the last answer about each.
type Known interface {
	// Put MUST make the task its team's before it returns, also without Redis: the task must be paid for. If another team has
	// claimed the task, Put MUST change nothing and return false.
	Put(ctx context.Context, claim cache.Claim) bool
	// Get MUST return the team's claim with the last answer that any replica has heard, and false for an absent task, an
	// expired one, and another team's.
	Get(ctx context.Context, team, task string) (cache.Claim, bool, error)
	// List MUST return a page of the teams' tasks, newest first, and how many there are.
	List(ctx context.Context, teams []string, f cache.Filter) ([]cache.Claim, int, error)
	// Hear MUST keep an answer unless a later state is known, and return the claim as it stands, with so many Queries.
	Hear(ctx context.Context, claim *cache.Claim, answer cache.Answer, body []byte, queries int) (cache.Claim, error)
}

// Turns lets one replica at a time query a task.
type Turns interface {
	// Take MUST let one caller of all replicas query a task, until the answer is heard, the task is released,
	// or a while has passed.
	Take(ctx context.Context, team, task string) (cache.Turn, error)
	// Release MUST let others query again after that time.
	Release(ctx context.Context, team, task string, after time.Duration)
}

// Agenda keeps when the finisher queries tasks that no client polls.
type Agenda interface {
	// Due MUST hand each due or expired task to one caller, and again if nothing is heard for a while. It MUST give each team
	// its share, with two tasks of the teams that go first before each task of the others.
	Due(ctx context.Context, most int, first map[string]bool) ([]cache.Claim, error)
	// Schedule MUST set when a task that has not ended is due.
	Schedule(ctx context.Context, claim *cache.Claim, at time.Time) error
	// Forget MUST no longer hand the task out.
	Forget(ctx context.Context, claim *cache.Claim) error
	// Maintain MUST do what failed before. One goroutine calls it. Its error is for the operator's log.
	Maintain(ctx context.Context) error
}

// Rate keeps the account's rate of task queries, or of cancels.
type Rate interface {
	// Allow MUST keep all replicas together within the rate, and give each team its share. With spare it MUST leave room for
	// others. An error means that the state is not known.
	Allow(ctx context.Context, team string, spare bool) (bool, error)
}
