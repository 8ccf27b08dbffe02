package figures

import (
	"context"
	"errors"
	"time"

	"sluice/cache"
	"sluice/gateway/console/access"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry/recent"
)

// Accounts are what teams used and may still spend.
type Accounts interface {
	Ledger
	// Look MUST return how a team stands to each of its limits.
	Look(ctx context.Context, team *teams.Team) (limit.Report, error)
	// LookTags MUST return how each value of the team's tag stands to its quotas at a moment, as [limit.TagStandings] does.
	LookTags(ctx context.Context, team *teams.Team, at time.Time) ([]limit.Standing, error)
	// LastKnown MUST return how a team stood to its quotas when that was last heard, without waiting for anything.
	LastKnown(team *teams.Team) limit.Report
}

// Lately is what requests did lately, at all replicas.
type Lately interface {
	// Minutes MUST return the counts of teams in the minutes of a span, by team and time; an empty name is all requests together.
	Minutes(ctx context.Context, teams []string, from, to time.Time) ([]recent.Minute, error)
	// Day MUST return the counts of teams on the day of a moment, by their names.
	Day(ctx context.Context, teams []string, at time.Time) (map[string]recent.Counts, error)
	// Requests MUST return a page of the last requests.
	Requests(ctx context.Context, f recent.Filter) (recent.Page, error)
}

// Tasks are the teams' tasks. Package cache has two forms.
type Tasks interface {
	// List MUST return a page of a team's tasks, newest first, and how many there are.
	List(ctx context.Context, team string, f cache.Filter) ([]cache.Claim, int, error)
	// ListOpen MUST return the same of the tasks of several teams that have not ended.
	ListOpen(ctx context.Context, teams []string, f cache.Filter) ([]cache.Claim, int, error)
	// ListNewest MUST return a page of the tasks of several teams, newest first, and where the next begins; 0: there is none.
	ListNewest(ctx context.Context, teams []string, f cache.Filter, before int64) ([]cache.Claim, int64, error)
	// Get MUST return a team's task, and false if it is absent, expired, or another team's.
	Get(ctx context.Context, team, task string) (cache.Claim, bool, error)
}

// Deps are what the figures are computed from. All are required unless they say otherwise.
type Deps struct {
	Teams    func() *teams.File // in force now
	Accounts Accounts
	Lately   Lately
	Tasks    Tasks
	Days     Keeper                                    // of sums of days that are over; nil: the accounts are in this process
	Memory   func() int64                              // numbers the memories of Redis that this process has seen; nil: the accounts are in this process
	Running  func(team *teams.Team) (used, most int64) // requests of a team in flight at this replica, and its share of the limit; nil: not known
	Faults   func() []Fault                            // what is wrong with the process; nil: nothing
	Queued   func()                                    // called when a reading of all recent requests waits, as [ReadingBound] says; nil: not called
	Late     time.Duration                             // how long after a day a request of it may still be charged; 0: 49 h, as the accounts promise
	Now      func() time.Time
}

// lateDefault is how long the accounts take settlements of a request.
const lateDefault = 49 * time.Hour

// Errors that the console tells the person.
var (
	ErrAbsent = errors.New("there is no such team, task or request") // or it is not the person's to see
	ErrQuery  = errors.New("the query is not one that can be answered")
)

// Figures reads figures. Create it with [New]; it is safe for concurrent use.
type Figures struct {
	Deps
	sums     *sums
	requests chan struct{} // has who reads all recent requests
}

// New returns figures that read nothing by themselves.
func New(deps Deps) *Figures {
	if deps.Late == 0 {
		deps.Late = lateDefault
	}
	if deps.Memory == nil {
		deps.Memory = func() int64 { return 0 }
	}
	if deps.Queued == nil {
		deps.Queued = func() {}
	}
	return &Figures{
		Deps: deps, sums: newSums(deps.Accounts, deps.Days, deps.Now, deps.Late, deps.Memory), requests: make(chan struct{}, readings),
	}
}

// Run makes sums of days that are over, until ctx ends. One replica at a time does so.
func (f *Figures) Run(ctx context.Context) { f.sums.run(ctx) }

// visible returns the teams that a person sees, by id, out of those in force, and whether that is every request.
func (f *Figures) visible(p access.Person) (list []*teams.Team, all bool) {
	file := f.Teams()
	for _, team := range file.List {
		if p.Sees(team.ID) {
			list = append(list, team)
		}
	}
	return list, p.SeesAll()
}

// find returns a team that a person sees.
func (f *Figures) find(p access.Person, id string) (*teams.Team, error) {
	if team := f.Teams().Team(id); team != nil && p.Sees(id) {
		return team, nil
	}
	return nil, ErrAbsent
}

func idsOf(list []*teams.Team) []string {
	ids := make([]string, len(list))
	for i, team := range list {
		ids[i] = team.ID
	}
	return ids
}
