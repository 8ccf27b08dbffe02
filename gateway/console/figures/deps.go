package figures

import (
	"context"
	"errors"
	"time"

	"sluice/cache"
	"sluice/policy/account"
	"sluice/policy/event"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry/pulse"
	"sluice/telemetry/recent"
)

// Ledger holds the daily use of teams.
type Ledger interface {
	// Rows MUST return rows of the ledger in the order of reports.
	Rows(ctx context.Context, q limit.Query) ([]limit.Row, error)
}

// House is the ledger of all teams.
type House interface {
	// Days MUST return the ledger by model and endpoint, by tag or by key, of a few days.
	Days(ctx context.Context, by limit.ScopeKind, days []int) (map[int]limit.DayRows, error)
	// Versions MUST return for each day a number that changes with each change of its ledger more than a day after the day's end.
	Versions(ctx context.Context, days []int) ([]uint64, error)
}

// Balances hold what teams used and may still spend.
type Balances interface {
	Ledger
	// Look MUST return a team's standing for each of its limits.
	Look(ctx context.Context, team *teams.Team) (limit.Report, error)
	// LookInside MUST return the standings inside a team at a moment: of its tag's values like [limit.TagStandings], or of its keys like
	// [limit.KeyStandings].
	LookInside(ctx context.Context, team *teams.Team, k limit.ScopeKind, at time.Time) ([]limit.Standing, error)
	// LookAll MUST return the standings of each team, like Look or, with inside, like LookInside. It MAY leave out the quotas of teams
	// without rates, and MUST leave out what cannot be read.
	LookAll(ctx context.Context, list []*teams.Team, inside bool, at time.Time) [][]limit.Standing
	// LastKnown MUST return a team's last known standing for its quotas. It MUST NOT block.
	LastKnown(team *teams.Team) limit.Report
}

// Recent holds the recent requests of all replicas.
type Recent interface {
	// Minutes MUST return the counts of teams in the minutes of a span, by team and time; the team "" is all requests together.
	Minutes(ctx context.Context, teams []string, from, to time.Time) ([]recent.Minute, error)
	// Day MUST return the counts of teams on the day of a moment, by team.
	Day(ctx context.Context, teams []string, at time.Time) (map[string]recent.Counts, error)
	// Latencies MUST return the histograms of the steps that begin within a span, by name, kind and time.
	Latencies(ctx context.Context, by recent.By, from, to time.Time) ([]recent.Latency, error)
	// Requests MUST return a page of the last requests.
	Requests(ctx context.Context, f recent.Filter) (recent.Page, error)
}

// Tasks are the teams' tasks. Package cache implements it twice.
type Tasks interface {
	// List MUST return a page of the teams' tasks, newest first.
	List(ctx context.Context, teams []string, f cache.Filter) (cache.Page, error)
	// Get MUST return a team's task, and false if it is absent, expired, or another team's.
	Get(ctx context.Context, team, task string) (cache.Claim, bool, error)
	// Owner MUST return the team of the task with this id, and false if there is none.
	Owner(ctx context.Context, task string) (team string, known bool, err error)
}

// Deps are the sources of the figures. All are required unless their comment says otherwise.
type Deps struct {
	Teams    func() *teams.File // in force
	Balances Balances
	Recent   Recent
	Tasks    Tasks
	Days     Keeper // sums of past days, stored where the accounts are
	House    House
	// requests of a team in flight at this replica, and its share of the limit; nil: not known
	Running func(team *teams.Team) (used, most int64)
	Faults  func() []Fault // the process's faults, with its checks as subjects; nil: none
	// Pulse returns the service's fault by the requests of this replica; nil: not known.
	Pulse func(now time.Time) (pulse.Fault, bool)
	// Hooks returns the ages of the oldest undelivered events, by hook; nil: there are none.
	Hooks  func() map[string]time.Duration
	Outbox event.Outbox // has the deliveries to hooks
	// Standings returns the accounts at the service, in the order of their file; nil: not known.
	Standings func() []account.Standing
	Queued    func()        // called when a reading of all recent requests waits, see [ReadingBound]; nil: not called
	Late      time.Duration // how long after a day its requests may still be charged; 0: 49 h, as the accounts promise
	Now       func() time.Time
	// Panicked is called when a round of [Figures.Run] panicked. Nil: not called.
	Panicked func(p any, stack string)
}

// Fault is something that is wrong.
type Fault struct {
	Kind    string     `json:"kind"`    // service, latency, refused, account, limit, hook, key or process
	Subject string     `json:"subject"` // the model, team, account or hook, or the process's part; empty: the service
	Text    string     `json:"text"`
	Since   *time.Time `json:"since"` // nil: not known
	Count   int64      `json:"count"` // out of Of: failed or refused requests, or per cent of a limit; 0: not a count
	Of      int64      `json:"of"`
}

// Errors that the console shows.
var (
	ErrAbsent = errors.New("there is no such team, task or request") // also if the person may not see it
	ErrQuery  = errors.New("the query cannot be answered")
)

// Keeper keeps sums of past days and months, for all replicas.
type Keeper interface {
	// Load MUST return the kept sums of these days and dimensions.
	Load(ctx context.Context, days []int, by []string) (map[DayBy]Sum, error)
	Save(ctx context.Context, sums map[DayBy]Sum) error
	// Lead MUST try to take the leader lease for making sums, and report whether this process holds it.
	Lead(ctx context.Context, lasts time.Duration) (bool, error)
}
