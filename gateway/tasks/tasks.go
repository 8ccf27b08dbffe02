// Package tasks follows a task from the answer that names it until its end is charged: whose it is, its last known state, and
// when to query the service for a newer one.
//
// It queries the service through one function, and keeps the tasks in [Claims]. In memory it has only the running queries and the
// ends that are not charged yet. It promises that a task is shown to its own team only, that the service is queried about it once
// an interval however many clients poll, and that its end is charged once.
package tasks

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"sync"
	"time"

	"sluice/cache"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
	"sluice/telemetry"
)

// Accounts keeps what teams may still spend. Its methods are called from any goroutine. Package limit has two forms: in this
// process's memory, and in Redis.
type Accounts interface {
	// Admit MUST place the hold in all of its units, or take nothing. An error is about the state, not about the team.
	Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error)
	// Extend MUST keep an open hold open for the lease from now.
	Extend(ctx context.Context, h *limit.Held, lease time.Duration) error
	// Settle MUST charge a hold once, however often it is called, and report whether this call did. A charge that fails MUST be
	// kept and retried.
	Settle(ctx context.Context, c *limit.Charge) (bool, error)
	// SettleLater MUST charge a hold as Settle does, and MUST NOT wait for anything but a full queue.
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

	// First MUST report true for each name of an account once.
	First(ctx context.Context, account, name string) (bool, error)
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
	Join(ctx context.Context, all cache.IdempotencyName, body [sha256.Size]byte, a cache.Attempt) (name cache.IdempotencyName, was cache.Outcome, runs bool, err error)
	// End MUST remember the outcome for as long as tasks live. If it has no status, End MUST free the name instead, provided that
	// the name still belongs to the request with its token.
	End(ctx context.Context, name cache.IdempotencyName, body [sha256.Size]byte, outcome cache.Outcome)
	// Leave notes, as a best effort, that an attempt's client left without the answer, as [cache.Outcomes.Leave] does.
	Leave(ctx context.Context, name cache.IdempotencyName)
}

// Claims keeps the tasks of teams. Package cache has two forms: in this process's memory, and in Redis. Its methods are called
// from any goroutine. An error means that the state is not known at the moment, and that the method changed nothing.
type Claims interface {
	// Put MUST make the task its team's before it returns, also without Redis: the task must be paid for. If another team has
	// claimed the task, Put MUST change nothing and return false.
	Put(ctx context.Context, claim cache.Claim) bool
	// Get MUST return the team's claim with the last answer that any replica has received, and false for an absent task, an
	// expired one, and another team's.
	Get(ctx context.Context, team, task string) (cache.Claim, bool, error)
	// List MUST return a page of the teams' tasks, newest first.
	List(ctx context.Context, teams []string, f cache.Filter) (cache.Page, error)
	// Hear MUST keep an answer unless a later state is known, and return the claim as it stands, with so many Queries.
	Hear(ctx context.Context, claim *cache.Claim, answer cache.Answer, body []byte, queries int) (cache.Claim, error)

	// Take MUST let one caller of all replicas query a task, until the answer is kept, the task is released, or a while has
	// passed.
	Take(ctx context.Context, team, task string) (cache.Turn, error)
	// Release MUST let others query again after that time.
	Release(ctx context.Context, team, task string, after time.Duration)

	// Due MUST hand each due or expired task to one caller, and again if no answer is kept for a while. It MUST give each team
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

// Config has the operator's settings for tasks. Every field is required unless its comment says otherwise.
type Config struct {
	TTL          time.Duration  // how long the service knows a task
	Interval     time.Duration  // the least time between two queries about one running task
	Zone         *time.Location // of the times inside task answers
	MaxUnsettled int            // ends that may wait for their charge; 0: 10,000; negative: none
}

// Deps are the parts that a Tasks uses. All are required unless their comments say otherwise.
type Deps struct {
	Now     func() time.Time // the clock
	Claims  Claims
	Queries Rate // of task queries of the account
	Cancels Rate // of cancels of the account

	// Query queries the service about a task.
	Query func(claim *cache.Claim, by Origin) (Reply, error)
	// Charge charges the hold of a task's creation, and calls Taken and Left as [limit.Charge] says.
	Charge func(ctx context.Context, charge *limit.Charge)
	// Full names the teams that may have no more open tasks.
	Full func() map[string]bool
	// Label names a model in metrics.
	Label func(model string) string
	// Money is what amounts of money count in.
	Money func() unit.Money
	// Cover hides the service's key and address in a text of the service.
	Cover func(text string) string

	Metrics *telemetry.Metrics // nil: no metrics
	Traces  *telemetry.Traces  // nil: no spans
	Logger  *slog.Logger
}

// Origin is what caused a query: a poll, a cancel or the finisher.
type Origin struct {
	Finisher bool
	Span     telemetry.Span // of the poll or cancel; zero: none is recorded
}

// Reply is the service's answer.
type Reply struct {
	Status     int    // HTTP status; 0: no answer
	UpstreamID string // the service's id of the request
	Body       []byte
}

// Tasks follows tasks: it answers clients' polls and cancels from the answers to queries, and finishes tasks that no client
// polls. Create it with [New]; it is safe for concurrent use.
type Tasks struct {
	*queries
	cancels sync.Map // team → *rate.Limiter; grows with the teams file
}

// New builds a Tasks. It starts nothing.
func New(config Config, deps Deps) *Tasks {
	if config.MaxUnsettled == 0 {
		config.MaxUnsettled = mostUnsettled
	}
	return &Tasks{queries: &queries{settler: &settler{
		config: config, deps: deps, unsettled: unsettled{most: config.MaxUnsettled, heard: make(map[taskName]cache.Claim)},
	}}}
}

// Lease is how long a task's hold lasts. If the task's end was not seen by then, the hold is charged.
func (t *Tasks) Lease() time.Duration { return t.config.TTL + time.Hour }
