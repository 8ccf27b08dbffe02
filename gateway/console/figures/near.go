package figures

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"sluice/gateway/console/access"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Near is a limit and how near it is.
type Near struct {
	Name           string // as refusals have it: images-day, requests; concurrent, open_tasks
	limit.Standing        // without a unit if it counts things at once
	Percent        int    // of it that are used or held
}

// Most is the limit, of a rate its burst.
func (n *Near) Most() int64 {
	if n.Unit != "" && n.Period == "" {
		return n.Used + n.Left
	}
	return n.Limit
}

const (
	mostAsked  = 100 // teams whose rates, tags and keys a list reads, each in a call of Redis: those that sent most today
	asksAtOnce = 16  // of these calls
)

// nearest fills in the nearest limit of each team: of its quotas and open tasks by the last known standing, and of the busiest teams also
// of their rates, if they sent something today, of their tags' values and their keys. A limit that cannot be read is left out.
func (f *Figures) nearest(ctx context.Context, lines []TeamLine) {
	file, at := f.Teams(), f.Deps.Now()
	slices.SortStableFunc(lines, func(a, b TeamLine) int {
		return cmp.Compare(b.Today.Used[limit.Requests], a.Today.Used[limit.Requests])
	})
	var reading errgroup.Group
	reading.SetLimit(asksAtOnce)
	for i := range lines {
		team := file.Team(lines[i].ID)
		if team == nil { // it has just left
			continue
		}
		var mu sync.Mutex // of the line
		consider := func(list ...limit.Standing) {
			mu.Lock()
			defer mu.Unlock()
			for n := range list {
				lines[i].Nearest = nearer(lines[i].Nearest, list[n].Name(), &list[n])
			}
		}
		count := func(name string, used, most int64) {
			lines[i].Nearest = nearer(lines[i].Nearest, name, &limit.Standing{Used: used, Limit: most, Left: max(most-used, 0)})
		}
		known := f.Accounts.LastKnown(team)
		consider(known.Limits...)
		count("open_tasks", known.Tasks, int64(team.OpenTasks))
		if f.Running != nil {
			used, most := f.Running(team)
			count("concurrent", used, most)
		}
		if i >= mostAsked {
			continue
		}
		if len(team.Rates) > 0 && (lines[i].Today != (Use{}) || lines[i].Refused > 0) { // else they are full
			reading.Go(func() error {
				report, err := f.Accounts.Look(ctx, team)
				if err == nil {
					consider(report.Limits...)
				}
				return nil
			})
		}
		for kind, has := range map[limit.ScopeKind]bool{limit.ScopeTag: len(team.TagQuotas) > 0, limit.ScopeKey: team.CountedKeys() != nil} {
			if has {
				reading.Go(func() error {
					list, err := f.Accounts.LookInside(ctx, team, kind, at)
					if err == nil {
						consider(list...)
					}
					return nil
				})
			}
		}
	}
	_ = reading.Wait() // it has no error
}

// nearer returns the nearer of two limits; of equal ones the first.
func nearer(n *Near, name string, s *limit.Standing) *Near {
	one := &Near{Name: name, Standing: *s}
	if most := one.Most(); most > 0 {
		one.Percent = int(100 * float64(s.Used+s.Held) / float64(most))
		if n == nil || one.Percent > n.Percent {
			return one
		}
	}
	return n
}

// NearList lists the nearest limit of each team that a person sees, and the house's, of which percent or more are used or held, the
// nearest first. The house has no id.
func (f *Figures) NearList(ctx context.Context, p access.Person, percent int) ([]TeamLine, error) {
	lines, err := f.Lines(ctx, p)
	var list []TeamLine
	for id, use := range lines {
		if use.Nearest != nil && use.Nearest.Percent >= percent {
			list = append(list, TeamLine{id, use})
		}
	}
	slices.SortFunc(list, func(a, b TeamLine) int {
		return cmp.Or(cmp.Compare(b.Nearest.Percent, a.Nearest.Percent), strings.Compare(a.ID, b.ID))
	})
	return list, err
}

// houseNear is the nearest limit of all teams together; nil: there is none.
func (f *Figures) houseNear(p access.Person, house *teams.House) (n *Near) {
	if house == nil || !p.SeesAll() {
		return nil
	}
	list := f.Accounts.LastKnown(house.Account).Limits
	for i := range list {
		n = nearer(n, list[i].Name(), &list[i])
	}
	return n
}
