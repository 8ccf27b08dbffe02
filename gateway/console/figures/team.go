package figures

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/cache"
	"sluice/gateway/console/access"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
	"sluice/telemetry/recent"
)

// TeamFigures are a team's current figures.
type TeamFigures struct {
	Team       *teams.Team      // as in force, with its raises
	Report     limit.Report     // the limits in force, and the open tasks: the figures of /sluice/v1/usage
	Effective  []int            // indices in Report of each unit's binding limit: the one with the least left
	TagKey     string           // the name of the team's tag; empty: none
	TagQuotas  []teams.Quota    // of each value of the tag
	Tags       []limit.Standing // the values' standings, in the order of [limit.TagStandings]
	ByKey      []Row            // of the month so far, largest spend first; without use without a key
	KeyLimits  []limit.Standing // of the keys with limits of their own, in the order of [limit.KeyStandings]
	Concurrent Count            // at this replica
	OpenTasks  Count
	Days       []Row // the last 30 days, oldest first
	Refusals   []Refusal
	Failed     int64      // today's requests that failed at the service and that no refusal counts
	Tasks      []TaskLine // open ones, newest first, at most 20
}

// Count is a number of requests or tasks in flight and its limit; 0: no limit.
type Count struct{ Used, Limit int64 }

// Refusal is the number of today's refusals for one reason.
type Refusal struct {
	Name  string // as in Sluice-Refusal: admit/quota
	Count int64
}

const (
	teamDays  = 30
	teamTasks = 20
)

// Team returns one team's figures. It reads everything concurrently.
func (f *Figures) Team(ctx context.Context, p access.Person, id string) (t TeamFigures, err error) {
	team, err := f.find(p, id)
	if err != nil {
		return t, err
	}
	at := f.Deps.Now()
	t.Team = team
	days := lastDays(at, teamDays)
	var used book
	var counts map[string]recent.Counts
	var open cache.Page
	var reading Group
	reading.Go(func() (err error) { t.Report, err = f.Balances.Look(ctx, team); return err })
	reading.Go(func() (err error) { used, err = f.rows(ctx, limit.Query{Teams: []string{id}, Days: days}); return err })
	reading.Go(func() (err error) { counts, err = f.Recent.Day(ctx, []string{id}, at); return err })
	reading.Go(func() (err error) {
		open, err = f.Deps.Tasks.List(ctx, []string{id}, cache.Filter{Open: true, Size: teamTasks})
		return err
	})
	if len(team.TagQuotas) > 0 {
		reading.Go(func() (err error) { t.Tags, err = f.Balances.LookInside(ctx, team, limit.ScopeTag, at); return err })
	}
	reading.Go(func() (err error) { t.ByKey, err = byKey(ctx, f.Balances, id, at); return err })
	if team.CountedKeys() != nil {
		reading.Go(func() (err error) {
			t.KeyLimits, err = f.Balances.LookInside(ctx, team, limit.ScopeKey, at)
			return err
		})
	}
	if err := reading.Wait(); err != nil {
		return t, err
	}
	t.TagKey, t.TagQuotas = team.TagKey, team.TagQuotas
	t.Effective = effective(t.Report.Limits)
	t.Concurrent, t.OpenTasks = Count{Limit: int64(team.Concurrent)}, Count{Used: t.Report.Tasks, Limit: int64(team.OpenTasks)}
	if f.Running != nil {
		t.Concurrent.Used, t.Concurrent.Limit = f.Running(team)
	}
	for _, day := range days {
		t.Days = append(t.Days, Row{limit.DayText(day), used.total(day)})
	}
	c := counts[id]
	t.Refusals, t.Failed = refusals(&c), c.Failed
	for i := range t.Refusals {
		if !recent.Refused(t.Refusals[i].Name) {
			t.Failed -= t.Refusals[i].Count
		}
	}
	for i := range open.Tasks {
		t.Tasks = append(t.Tasks, lineOf(&open.Tasks[i]))
	}
	return t, nil
}

// byKey returns a team's use with each key in the month of at, until at.
func byKey(ctx context.Context, ledger Ledger, team string, at time.Time) ([]Row, error) {
	rows, err := ledger.Rows(ctx, limit.Query{Teams: []string{team}, Days: lastDays(at, at.UTC().Day()), By: limit.ScopeKey})
	byName := adder{}
	for i := range rows {
		use := useOf(&rows[i])
		byName.add(rows[i].Key, &use)
	}
	return byName.sorted(), err
}

// effective returns, for each limited unit, the limit with the least left.
func effective(limits []limit.Standing) (list []int) {
	least := map[unit.Name]int{}
	for i := range limits {
		if other, known := least[limits[i].Unit]; !known || limits[i].Left < limits[other].Left {
			least[limits[i].Unit] = i
		}
	}
	return slices.Sorted(maps.Values(least))
}

// refusals returns refusals by reason, most frequent first.
func refusals(c *recent.Counts) (list []Refusal) {
	for name, n := range c.Refusals {
		list = append(list, Refusal{name, n})
	}
	slices.SortFunc(list, func(a, b Refusal) int { return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name)) })
	return list
}
