// Package tasks follows a task from the answer that names it until its end is charged: whose it is, its last known state, and
// when to query the service for a newer one.
//
// It queries the service through one function, and keeps the tasks in [Claims]. In memory it has only the running queries and the
// ends that are not charged yet. It promises that a task is shown to its own team only, that the service is queried about it once
// an interval however many clients poll, and that its end is charged once.
package tasks

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"sluice/cache"
	"sluice/policy/limit"
	"sluice/telemetry"
)

// Config has the operator's settings for tasks. Every field is required unless it says otherwise.
type Config struct {
	TTL          time.Duration  // how long the service knows a task
	Interval     time.Duration  // the least time between two queries about one running task
	Zone         *time.Location // of the times inside task answers
	MaxUnsettled int            // ends that may wait for their charge; 0: 10,000; negative: none
}

// Deps are the parts that a Tasks uses. All are required unless they say otherwise.
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
	// Cover hides the service's key and address in a text of the service.
	Cover func(text string) string

	Metrics *telemetry.Metrics // nil: no metrics
	Traces  *telemetry.Traces  // nil: no spans
	Logger  *slog.Logger
}

// Origin tells what caused a query: a poll, a cancel or the finisher.
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

// Tasks follows tasks. Create it with [New]; it is safe for concurrent use.
type Tasks struct {
	config    Config
	deps      Deps
	queries   singleflight.Group // running task queries
	unsettled unsettled
	cancels   cancels
}

// New builds a Tasks. It starts nothing.
func New(config Config, deps Deps) *Tasks {
	if config.MaxUnsettled == 0 {
		config.MaxUnsettled = mostUnsettled
	}
	return &Tasks{config: config, deps: deps, unsettled: unsettled{most: config.MaxUnsettled}}
}

// ErrAbsent is the error for a task that is absent, expired, or another team's.
var ErrAbsent = errors.New("there is no such task")

// ErrCrowded is the error for a task that is not the team's, while many others are being looked up for the team.
var ErrCrowded = errors.New("there is no such task, and too many are looked up")

// claimPatience is how long a poll waits for Claims to become available.
const claimPatience = 2 * time.Second

// Own finds the team's claim of a task. If Claims cannot tell, Own waits for a while before it returns the error of Claims: it
// must not deny the task.
func (t *Tasks) Own(ctx context.Context, team, task string) (cache.Claim, error) {
	var end time.Time // of waiting; zero: not waiting
	for {
		claim, ok, err := t.deps.Claims.Get(ctx, team, task)
		switch {
		case err == nil && !ok:
			return claim, ErrAbsent
		case err == nil || errors.Is(err, ErrCrowded):
			return claim, err
		case end.IsZero():
			end = time.Now().Add(claimPatience)
		case time.Now().After(end) || ctx.Err() != nil:
			return claim, err
		}
		select {
		case <-time.After(claimPatience / 20):
		case <-ctx.Done():
		}
	}
}

// Lease is how long a task's hold stands. If the task's end was not seen by then, the hold is charged.
func (t *Tasks) Lease() time.Duration { return t.config.TTL + time.Hour }

// fresh reports whether the last answer still serves. A final one always does.
func (t *Tasks) fresh(claim *cache.Claim) bool {
	return claim.Final() || t.deps.Now().Sub(claim.Fetched) < t.config.Interval
}

// soon is when a task is due again after a failed attempt.
func (t *Tasks) soon() time.Time { return t.deps.Now().Add(max(t.config.Interval, time.Second)) }

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

// cancels allows each team one cancel a second. A cancel without room in the account's rate is refused, unlike a poll. So the first
// cancel of a team in a second goes first, and further ones get what is left.
type cancels struct {
	mu    sync.Mutex
	teams map[string]*rate.Limiter // grows with the teams file
}

// first reports whether the team has not cancelled for a second.
func (l *cancels) first(team string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.teams == nil {
		l.teams = make(map[string]*rate.Limiter)
	}
	if l.teams[team] == nil {
		l.teams[team] = rate.NewLimiter(rate.Every(time.Second), 1)
	}
	return l.teams[team].AllowN(now, 1)
}
