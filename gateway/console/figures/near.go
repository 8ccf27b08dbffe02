package figures

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Near is a limit and how much of it is used.
type Near struct {
	Name           string // as in refusals: images-day, requests; concurrent, open_tasks
	limit.Standing        // without a unit if the limit is on concurrency
	Percent        int    // used or held
}

// Most returns the limit, or the burst of a rate.
func (n *Near) Most() int64 {
	if n.Unit != "" && n.Period == "" {
		return n.Used + n.Left
	}
	return n.Limit
}

// mostAsked bounds the teams whose rates are read in one call, the busiest of today first, and those whose tags and keys are read.
const mostAsked = 1000

// nearest sets the nearest limit of each team, out of its last known quotas and open tasks, the limits inside it, and, for the busiest
// teams of today, its rates. A limit that cannot be read is left out.
func (f *Figures) nearest(ctx context.Context, lines []TeamLine, inside map[string][]limit.Standing) {
	file := f.Teams()
	slices.SortStableFunc(lines, func(a, b TeamLine) int {
		return cmp.Compare(b.Today.Used[limit.Requests], a.Today.Used[limit.Requests])
	})
	var asked []*teams.Team
	var of []*TeamLine // the line of each
	for i := range lines {
		line, team := &lines[i], file.Team(lines[i].ID)
		if team == nil { // it was just removed
			continue
		}
		count := func(name string, used, most int64) {
			line.Nearest = nearer(line.Nearest, name, &limit.Standing{Used: used, Limit: most, Left: max(most-used, 0)})
		}
		known := f.Balances.LastKnown(team)
		line.consider(known.Limits)
		line.consider(inside[team.ID])
		count("open_tasks", known.Tasks, int64(team.OpenTasks))
		if f.Running != nil {
			used, most := f.Running(team)
			count("concurrent", used, most)
		}
		// The rates of a team that sent nothing today are full.
		if sent := line.Today != (Use{}) || line.Refused > 0; sent && len(team.Rates) > 0 && len(asked) < mostAsked {
			asked, of = append(asked, team), append(of, line)
		}
	}
	for i, list := range f.Balances.LookAll(ctx, asked, false, f.Deps.Now()) {
		of[i].consider(list)
	}
}

// consider sets the team's nearest limit to one of the list, if that is nearer.
func (l *TeamLine) consider(list []limit.Standing) {
	for i := range list {
		l.Nearest = nearer(l.Nearest, list[i].Name(), &list[i])
	}
}

// innerFor is how long all pages share one reading of the limits inside teams: a quota's last known standing may be as old.
const innerFor = 10 * time.Second

// inner caches the standings of teams' tag values and keys.
type inner struct {
	mu   sync.Mutex
	read time.Time
	list map[string][]limit.Standing // by team
}

// of returns the standings, at most innerFor old, by team.
func (k *inner) of(ctx context.Context, f *Figures) map[string][]limit.Standing {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := f.Deps.Now()
	if age := at.Sub(k.read); age >= 0 && age < innerFor {
		return k.list
	}
	var asked []*teams.Team
	for _, team := range f.Teams().List {
		if len(asked) < mostAsked && (len(team.TagQuotas) > 0 || team.CountedKeys() != nil) {
			asked = append(asked, team)
		}
	}
	k.read, k.list = at, map[string][]limit.Standing{}
	for i, list := range f.Balances.LookAll(ctx, asked, true, at) {
		k.list[asked[i].ID] = list
	}
	return k.list
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

// NearList returns the nearest limit of each team that a person sees, and the house's, if percent or more of it are used or held, nearest
// first. The house has no id.
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

// houseNear returns the nearest limit of all teams together; nil: none, or the person may not see it.
func (f *Figures) houseNear(p access.Person, house *teams.House) (n *Near) {
	if house == nil || !p.SeesAll() {
		return nil
	}
	list := f.Balances.LastKnown(house.Account).Limits
	for i := range list {
		n = nearer(n, list[i].Name(), &list[i])
	}
	return n
}
