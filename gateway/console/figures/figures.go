// Package figures computes what the console shows: traffic, limits, use, money, tasks and requests, as plain values.
//
// Its sources are the accounts and the ledger of package limit, the tasks of package cache, and the counts and lines of package
// recent. It stores only sums of past days and months, which are read instead of the ledger's hash for each team and day. It knows
// nothing of HTTP.
//
// It promises that a person gets only what that person may see, that another's team and an unknown team get the same answer, that
// every total equals that of sluice usage, and that a page's data is read from Redis in at most three sequential round trips.
package figures

import (
	"context"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/teams"
)

// lateDefault is how long the accounts accept settlements of a request.
const lateDefault = 49 * time.Hour

// Figures reads figures. Create it with [New]; it is safe for concurrent use.
type Figures struct {
	Deps
	ledger
	traffic
	slow  slow
	inner inner
}

// New returns figures that read nothing in the background.
func New(deps Deps) *Figures {
	if deps.Late == 0 {
		deps.Late = lateDefault
	}
	if deps.Queued == nil {
		deps.Queued = func() {}
	}
	if deps.Panicked == nil {
		deps.Panicked = func(any, string) {}
	}
	fresh := freshFor
	if _, here := deps.Days.(*MemorySums); here {
		fresh = 0 // reading memory is cheap
	}
	return &Figures{
		Deps: deps, traffic: traffic{deps: &deps, turns: make(chan struct{}, readings)},
		ledger: ledger{
			balances: deps.Balances, kept: deps.Days, all: deps.House, now: deps.Now, late: deps.Late, fresh: fresh,
			wake: make(chan struct{}, 1),
		},
	}
}

// Run makes sums of past days until ctx ends. Only one replica at a time does so. A panic ends only one round, and is reported to Panicked.
func (f *Figures) Run(ctx context.Context) { f.run(ctx, f.Panicked) }

// visible returns the teams in force that a person sees, by id, and whether the person sees every request.
func (d *Deps) visible(p access.Person) (list []*teams.Team, all bool) {
	file := d.Teams()
	for _, team := range file.List {
		if p.Sees(team.ID) {
			list = append(list, team)
		}
	}
	return list, p.SeesAll()
}

// find returns a team if the person sees it.
func (d *Deps) find(p access.Person, id string) (*teams.Team, error) {
	if team := d.Teams().Team(id); team != nil && p.Sees(id) {
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
