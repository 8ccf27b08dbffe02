package gateway

import (
	"context"
	"crypto/sha256"
	"time"

	"sluice/cache"
	"sluice/gateway/oidc"
	"sluice/gateway/tasks"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Accounts keeps what teams may still spend. Its methods are called from any goroutine. Package limit has two forms: in this
// process's memory, and in Redis.
type Accounts interface {
	Holds
	Reports
	// Maintain MUST do what is due and no request waits for. One goroutine calls it. Its error is for the operator's log.
	Maintain(ctx context.Context) error
}

// Holds keeps the cost of running requests.
type Holds interface {
	// Admit MUST place the hold in all of its units, or take nothing. An error is about the state, not about the team.
	Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error)
	// Extend MUST keep an open hold open for the lease from now.
	Extend(ctx context.Context, h *limit.Held, lease time.Duration) error
	// Settle MUST charge a hold once, however often it is called, and report whether this call did. A charge that fails MUST
	// be kept and tried again.
	Settle(ctx context.Context, c *limit.Charge) (bool, error)
	// SettleLater MUST charge a hold as Settle does, and MUST NOT wait for anything but a full queue.
	SettleLater(c *limit.Charge)
}

// Reports tells how teams stand.
type Reports interface {
	// Look MUST tell how a team stands and change nothing.
	Look(ctx context.Context, team *teams.Team) (limit.Report, error)
	// LookTags MUST tell how each value of the team's tag stands to its quotas at a moment, as [limit.TagStandings] does.
	LookTags(ctx context.Context, team *teams.Team, at time.Time) ([]limit.Standing, error)
	// OpenTasks MUST return at once the last known number of a team's open tasks.
	OpenTasks(team string) int64
	// TeamLedger MUST return what the team used on each of the days, yyyymmdd in UTC, in the order of reports, and no other
	// team's rows. If there are more rows than most, it MUST return [limit.ErrRows], and SHOULD NOT read the rest.
	TeamLedger(ctx context.Context, team string, days []int, most int) ([]limit.Row, error)
}

// Outcomes remembers the outcomes of creations with an Idempotency-Key. Package cache has two forms: in this process's
// memory, and in Redis.
type Outcomes interface {
	// Begin MUST let one request with a name run, and return what is remembered of it to all others: an outcome, or
	// one without a status while it runs. The token MUST be unique to the request. A Begin that failed, or whose request has ended,
	// MUST take nothing, however late it arrives where the outcomes are.
	Begin(ctx context.Context, name cache.IdempotencyName, body [sha256.Size]byte, token string) (was cache.Outcome, first bool, err error)
	// Join MUST in one step find which of the requests that are equal an attempt belongs to, as [cache.Outcomes.Join] says, and
	// what is remembered of it; or let the attempt run under the name that it returns. What Begin says of tokens holds.
	Join(ctx context.Context, all cache.IdempotencyName, body [sha256.Size]byte, a cache.Attempt) (name cache.IdempotencyName, was cache.Outcome, runs bool, err error)
	// End MUST remember the outcome for as long as tasks live. If it has no status, End MUST free the name instead,
	// provided that the name still stands for the request with its token.
	End(ctx context.Context, name cache.IdempotencyName, body [sha256.Size]byte, outcome cache.Outcome)
	// Leave notes, if it can, that the client of an attempt has gone without the answer, as [cache.Outcomes.Leave] says.
	Leave(ctx context.Context, name cache.IdempotencyName)
}

// Claims keeps the tasks of teams.
type Claims = tasks.Claims

// Identities verifies tokens that stand in place of keys. Package oidc has its form.
type Identities interface {
	// Follow MUST put the issuers of another teams file in force.
	Follow(issuers []*teams.Issuer)
	// Identify MUST return whom a token names, or why it is refused; the error MUST NOT contain a part of the token. It may
	// wait some seconds for an issuer, and MUST then say how long, with an error too.
	Identify(ctx context.Context, token string) (oidc.Workload, error)
}

// Queries keeps the account's rate of task queries, or of cancels.
type Queries = tasks.Rate
