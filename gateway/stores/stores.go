// Package stores has the interfaces of what outlives a request, beside tasks: what teams may still spend, and the outcomes of requests
// that run once. Other packages implement them in memory and in Redis.
//
// It also makes their calls wait until the team may make one. It keeps nothing itself.
package stores

import (
	"context"
	"crypto/sha256"
	"time"

	"sluice/cache"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Balances keep what teams may still spend. Its methods are called from any goroutine. Package limit has two forms: in this
// process's memory, and in Redis.
type Balances interface {
	// Admit MUST place the hold in all of its units, or take nothing. An error is about the state, not about the team.
	Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error)
	// Move MUST move an open hold to another account at the service, as [limit.Memory.Move] does, or change nothing.
	Move(ctx context.Context, from *limit.Held, to *limit.Hold) (limit.Verdict, error)
	// Extend MUST keep an open hold open for the lease from now.
	Extend(ctx context.Context, h *limit.Held, lease time.Duration) error
	// Settle MUST charge a hold once, however often it is called, and report whether this call did. A charge that fails MUST be
	// kept and retried.
	Settle(ctx context.Context, c *limit.Charge) (bool, error)
	// SettleLater MUST charge a hold as Settle does, and MUST NOT wait, except for a full queue.
	SettleLater(c *limit.Charge)

	// Look MUST report a team's standing and change nothing.
	Look(ctx context.Context, team *teams.Team) (limit.Report, error)
	// LookInside MUST report the standing of each part of a team at that time: of its tag's values as [limit.TagStandings] does, of its
	// keys as [limit.KeyStandings] does.
	LookInside(ctx context.Context, team *teams.Team, k limit.ScopeKind, at time.Time) ([]limit.Standing, error)
	// OpenTasks MUST return the last known number of a team's open tasks, without waiting.
	OpenTasks(team string) int64
	// Rows MUST return what the query's teams used on each of its days, in the order of reports, and no other rows. If there are more
	// than it allows, it MUST return [limit.ErrRows], and SHOULD NOT read the rest.
	Rows(ctx context.Context, q limit.Query) ([]limit.Row, error)

	// Maintain MUST do the background work that is due. One goroutine calls it. Its error is for the operator's log.
	Maintain(ctx context.Context) error
}

// Outcomes remembers the outcomes of creations with an Idempotency-Key. Package cache has two forms: in this process's
// memory, and in Redis.
type Outcomes interface {
	// Begin MUST let one request with a name run, and return what is remembered of it to all others: an outcome, or one without a
	// status while it runs. The token MUST be unique to the request. A Begin that failed, or whose request has ended, MUST NOT
	// take the name, however late it reaches the store.
	Begin(ctx context.Context, name cache.IdempotencyName, body [sha256.Size]byte, token string) (was cache.Outcome, first bool, err error)
	// Join MUST atomically find which of several equal requests an attempt belongs to, as [cache.Outcomes.Join] does, and what is
	// remembered of it; or let the attempt run under the name that it returns. Its tokens are as in Begin.
	Join(ctx context.Context, all cache.IdempotencyName, body [sha256.Size]byte, a cache.Attempt) (name cache.IdempotencyName,
		was cache.Outcome, runs bool, err error)
	// End MUST remember the outcome for as long as tasks live. If it has no status, End MUST free the name instead, provided that
	// the name still belongs to the request with its token.
	End(ctx context.Context, name cache.IdempotencyName, body [sha256.Size]byte, outcome cache.Outcome)
	// Leave notes, as a best effort, that an attempt's client left without the answer, as [cache.Outcomes.Leave] does.
	Leave(ctx context.Context, name cache.IdempotencyName)
}
