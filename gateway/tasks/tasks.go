// Package tasks follows a task from the answer that names it until its end is charged: whose it is, its last known state, and
// when to query the service for a newer one.
//
// It queries the service through one function, and keeps the tasks in [Claims]. In memory it has only the running queries and the
// ends that are not charged yet. It promises that a task is shown to its own team only, that the service is queried about it once
// an interval however many clients poll, and that its end is charged once.
package tasks

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sluice/cache"
	"sluice/gateway/openai"
	"sluice/policy/event"
	"sluice/policy/limit"
	"sluice/policy/unit"
	"sluice/telemetry"
)

// Claims keeps the tasks of teams. Package cache has two forms: in this process's memory, and in Redis. Its methods are called
// from any goroutine. An error means that the state is not known at the moment, and that the method changed nothing.
type Claims interface {
	// Put MUST make the task its team's before it returns, also without Redis: the task must be paid for. If the task
	// is another team's, or its claim has another hold, Put MUST change nothing and return false.
	Put(ctx context.Context, claim cache.Claim) bool
	// Get MUST return the team's claim with the last answer that any replica has received, and false for an absent task, an
	// expired one, and another team's.
	Get(ctx context.Context, team, task string) (cache.Claim, bool, error)
	// List MUST return a page of the teams' tasks, newest first.
	List(ctx context.Context, teams []string, f cache.Filter) (cache.Page, error)
	// Hear MUST keep an answer unless a later state is known, and return the claim as it stands, with that number of Queries.
	Hear(ctx context.Context, claim *cache.Claim, answer cache.Answer, body []byte, queries int) (cache.Claim, error)
	// Streamed MUST keep what the stream of the task's creation counted for the end of the task, whatever answers come before that. It is
	// no answer: it MUST leave the state, its time and the turn as they are, and do nothing if the task has ended.
	Streamed(ctx context.Context, claim *cache.Claim, counted string)

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

// Rate keeps the rates of task queries, or of cancels, of the accounts at the service.
type Rate interface {
	// Allow MUST keep all replicas together within the account's rate, and give each team its share. With Spare it MUST leave room
	// for others. An error means that the state is not known.
	Allow(ctx context.Context, w cache.Wish) (bool, error)
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
	Queries Rate // of task queries
	Cancels Rate // of cancels

	// Has reports whether this process knows an account at the service, by its name in a claim. For tasks of other accounts the
	// last known answers are served.
	Has func(account string) bool
	// QueryRate is how many queries an account allows a second; 0: as many as the Rate does.
	QueryRate func(account string) int
	// Shown names an account in the log and in spans; empty: there is only one.
	Shown func(account string) string

	// Query queries the service about a task.
	Query func(claim *cache.Claim, by Origin) (Reply, error)
	// Charge charges the hold of a task's creation, and calls Taken and Left as [limit.Charge] says.
	Charge func(ctx context.Context, charge *limit.Charge)
	// Contradicts notes a request whose usage, in the answer that shows its task's end, has more of a kind than of the whole.
	Contradicts func(id, team, model string)
	// Alarm tells the operator of a fault of an account at the service: its code, the account, and a text.
	Alarm func(code, account, text string)
	// Full names the teams that may have no more open tasks.
	Full func() map[string]bool
	// Ended is called for each task whose end this process reports, with its model's name in metrics; nil: not called. It must not block.
	Ended func(label string, task *telemetry.Task)
	// Label names a model in metrics.
	Label func(model string) string
	// Money is the unit of amounts of money.
	Money func() unit.Money
	// To says where an event is delivered; nil: nowhere.
	To event.Routes
	// Mirrored reports whether the pictures of a team's tasks are stored before their success is announced; nil: no pictures are.
	Mirrored func(team string) bool
	// Cover hides the keys and addresses of the accounts in a text of the service.
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

// typeOf has the type of the event of a task's end, by outcome.
var typeOf = map[string]event.Type{
	"succeeded": event.TaskSucceeded, "failed": event.TaskFailed, "cancelled": event.TaskCancelled, "unheard": event.TaskUnheard,
}

// reportEnd writes the metrics, the span and the log line of a task. Only the process that settles it does, so that each task
// is reported once.
func (s *settler) reportEnd(claim *cache.Claim, task *telemetry.Task) {
	s.deps.Metrics.Settlement(task.Outcome)
	s.deps.Metrics.Used(claim.Team, s.deps.Label(claim.Model), &task.Cost)
	task.Served, task.Sent = claim.Polls()
	s.Report(task)
}

// Report writes the span and the log line of a task that has ended.
func (s *settler) Report(task *telemetry.Task) {
	s.deps.Traces.Task(task)
	task.Log(s.deps.Logger, s.deps.Now())
	if s.deps.Ended != nil {
		s.deps.Ended(s.deps.Label(task.Model), task)
	}
}

// Event returns the event of a task's end, to be written with its charge; nil: nothing listens for it. body is the task's last answer,
// which names its pictures; nil: they are not known. callback is that of the request that made the task, or empty.
func (s *settler) Event(task *telemetry.Task, body []byte, callback string) *event.Draft {
	of := typeOf[task.Outcome]
	var results []event.Result
	if answer, err := openai.ReadPictures(body, nil); err == nil && body != nil {
		for _, url := range answer.URLs {
			results = append(results, event.Result{URL: url})
		}
	}
	if of == event.TaskSucceeded && len(results) > 0 && s.mirrors(task.Team) {
		return &event.Draft{Type: of, Team: task.Team, Work: s.workOf(task, results, callback)}
	}
	to := s.to(task.Team, of, callback)
	if to == nil {
		return nil
	}
	return &event.Draft{Type: of, Team: task.Team, Data: event.Ended(task.Ending(), results, false), To: to}
}

// Awaited reports whether a listener or the mirror waits for the pictures of a team's task that succeeds. callback is as in Event.
func (s *settler) Awaited(team, callback string) bool {
	return s.mirrors(team) || s.to(team, event.TaskSucceeded, callback) != nil
}

func (s *settler) mirrors(team string) bool { return s.deps.Mirrored != nil && s.deps.Mirrored(team) }

// to returns where an event is delivered; nil: nowhere.
func (s *settler) to(team string, of event.Type, callback string) []event.Target {
	if s.deps.To == nil {
		return nil
	}
	return s.deps.To(team, of, callback)
}

// workOf returns the work of storing a task's pictures before its success is announced.
func (s *settler) workOf(task *telemetry.Task, results []event.Result, callback string) *event.Work {
	w := &event.Work{
		Task: task.ID, Day: task.Ended.UTC().Format("2006/01/02"), Ends: task.Ended.Add(s.config.TTL).UTC(), Callback: callback,
		Head: task.Ending(),
	}
	for _, r := range results {
		w.Pictures = append(w.Pictures, event.Picture{URL: r.URL})
	}
	return w
}

// RequestEvent returns the event of a settled request, to be written with its charge; nil: no hook names it. If one does, complete is
// called first, to complete the record.
func RequestEvent(to event.Routes, r *telemetry.Record, complete func()) *event.Draft {
	if to == nil {
		return nil
	}
	targets := to(r.Team, event.RequestSettled, "")
	if targets == nil {
		return nil
	}
	complete()
	return &event.Draft{Type: event.RequestSettled, Team: r.Team, Data: r.Settled(), To: targets}
}
