package tasks

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/sync/singleflight"

	"sluice/cache"
	"sluice/policy/limit"
	"sluice/telemetry"
)

// Config is what the operator set for tasks. Every field is required unless it says otherwise.
type Config struct {
	TTL          time.Duration  // how long the service knows a task
	Interval     time.Duration  // the least time between two queries about one running task
	Zone         *time.Location // of the times inside task answers
	MaxUnsettled int            // ends that may wait for their charges; 0: 10,000; negative: none
}

// Deps are what a Tasks works with. All are required.
type Deps struct {
	Now     func() time.Time // the clock
	Claims  Claims
	Queries Rate // the account's rate of task queries
	Cancels Rate // and that of cancels

	// Ask asks the service about a task.
	Ask func(q *Query) (Reply, error)
	// Charge charges what a task's creation holds, and calls the charge's Taken and Left as [limit.Charge] says.
	Charge func(ctx context.Context, charge *limit.Charge)
	// Full names the teams that may have no more open tasks.
	Full func() map[string]bool
	// Label names a model in metrics.
	Label func(model string) string
	// Cover covers what no text of the service's may tell.
	Cover func(text string) string

	Metrics *telemetry.Metrics // nil: nothing is measured
	Traces  *telemetry.Traces  // nil: no spans are made
	Logger  *slog.Logger
}

// Query is a question about a task.
type Query struct {
	Team, Task, Model string
	Creation          string         // traceparent of the task's creation
	Parent            telemetry.Span // of the poll that leads; zero: none is recorded
	Finisher          bool           // no client polls
}

// Reply is the service's answer.
type Reply struct {
	Status     int    // HTTP status; 0: none came
	UpstreamID string // the service's id of the request
	Body       []byte
}

// Tasks follows tasks. Create it with [New]; it is safe for concurrent use.
type Tasks struct {
	config    Config
	deps      Deps
	queries   singleflight.Group // task queries that are under way
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

// ErrAbsent is the error of a task that is absent, expired, or another team's.
var ErrAbsent = errors.New("there is no such task")

// claimPatience is how long a poll waits for the state that tells whose its task is.
const claimPatience = 2 * time.Second

// Own finds a team's claim of a task. Where nobody can tell whose it is, it waits for a while: the task is neither denied nor
// opened. An error but [ErrAbsent] says why nobody can.
func (t *Tasks) Own(ctx context.Context, team, task string) (cache.Claim, error) {
	var end time.Time // of the waiting; there is none as a rule
	for {
		claim, ok, err := t.deps.Claims.Get(ctx, team, task)
		switch {
		case err == nil && !ok:
			return claim, ErrAbsent
		case err == nil:
			return claim, nil
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

// Lease is how long a task's hold stands: a task that ends without anybody hearing of it is charged as held.
func (t *Tasks) Lease() time.Duration { return t.config.TTL + time.Hour }

// fresh reports whether an answer need not be asked for again. A final one never.
func (t *Tasks) fresh(claim *cache.Claim) bool {
	return claim.Final() || t.deps.Now().Sub(claim.Fetched) < t.config.Interval
}

// soon is when a task is due for which nothing could be done now.
func (t *Tasks) soon() time.Time { return t.deps.Now().Add(max(t.config.Interval, time.Second)) }
