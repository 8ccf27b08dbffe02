package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"sluice/policy/teams"
)

// removeEvery is between two looks at the teams that are to be removed.
const removeEvery = time.Second

// removal removes the teams of the directory that are to be removed, once nothing of them is open and every process that follows the
// directory has seen that they end. Each process says so of itself; the one that sees first that all do removes the team.
type removal struct {
	store   teams.Store
	roster  *roster
	open    func(ctx context.Context, team string) (int, error) // requests and tasks that are not settled
	alive   func() int64                                        // replicas that the accounts know of, some of which may not have reported yet
	replica string                                              // this process
	who     teams.Order
	log     *slog.Logger
	now     func() time.Time

	seen []string // the teams to remove at the look before: requests that were judged before have their holds by now
}

// run looks until ctx ends. Then the others no longer wait for this process, which has ended its requests.
func (r *removal) run(ctx context.Context) {
	every(ctx, removeEvery, r.look)
	r.report(context.WithoutCancel(ctx), teams.Report{Replica: r.replica, Left: true})
}

// report says it, and returns what all say; nil: it is not known.
func (r *removal) report(ctx context.Context, own teams.Report) []teams.Report {
	ctx, cancel := context.WithTimeout(ctx, directoryCall)
	defer cancel()
	all, err := r.store.Report(ctx, own)
	if err != nil { // the directory's line in readiness says that its store is away
		return nil
	}
	return all
}

// look reports with which teams this process is through, and removes those with which all are.
func (r *removal) look(ctx context.Context) {
	_, d, _ := r.roster.inForce()
	ids, version := d.Removing(), d.Version
	own := teams.Report{Replica: r.replica, Version: version}
	for _, id := range ids {
		if !slices.Contains(r.seen, id) {
			continue
		}
		call, cancel := context.WithTimeout(ctx, directoryCall)
		if n, err := r.open(call, id); err == nil && n == 0 {
			own.Through = append(own.Through, id)
		}
		cancel()
	}
	r.seen = ids
	all := r.report(ctx, own)
	if int64(len(all)) < r.alive() {
		return
	}
	for _, id := range own.Through {
		if teams.Removable(all, own.Version, id) {
			version = r.remove(ctx, id, version)
		}
	}
}

var errOtherVersion = errors.New("the directory has changed since the reports")

// remove removes a team from a version of the directory, and returns the version then. Another process may be faster, and a person may
// have changed the directory: the next look judges that.
func (r *removal) remove(ctx context.Context, id string, version int64) int64 {
	ctx, cancel := context.WithTimeout(ctx, directoryCall)
	defer cancel()
	order := r.who
	order.Now = r.now()
	d, err := teams.Commit(ctx, r.store, order, func(d teams.Document) (teams.Change, error) {
		if d.Version != version {
			return nil, errOtherVersion
		}
		return teams.RemoveTeam{ID: id}, nil
	})
	switch {
	case err == nil:
		r.log.Info("team removed", "team", id, "version", d.Version)
		return d.Version
	case !errors.Is(err, errOtherVersion):
		r.log.Warn("directory", "warning", "team "+id+" cannot be removed yet: "+brief(err).Error())
	}
	return version
}
