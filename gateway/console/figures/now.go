package figures

import (
	"context"
	"slices"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/telemetry/recent"
)

// Now is the state of the gateway at one moment, as far as a person sees it.
type Now struct {
	At       time.Time
	Step     time.Duration // of Steps
	Steps    []Step        // oldest first, without gaps; the last one is not over
	Overhead time.Duration // Sluice's own time per request, mean of the last five whole minutes
	Rate     float64       // requests per second, mean of the last whole minute
	Refused  int64         // requests refused today
	Today    Use
	Faults   []Fault
	House    []limit.Standing // the last known quotas of all teams together; nil: none, or the person may not see them
	Teams    []TeamLine       // the ten with the most use today, by spend, then requests
	Known    int              // the number of teams that the person sees
}

// Step are the requests in one step of time.
type Step struct {
	At                        time.Time
	Requests, Refused, Failed int64 // Requests includes the others; Failed counts failures of the service
}

// TeamLine is a team as a row of a list.
type TeamLine struct {
	ID string
	TeamUse
}

// TeamUse is a team's use today, in UTC.
type TeamUse struct {
	Today   Use
	Refused int64 // requests refused today
	Nearest *Near // limit; nil: none, or not known
}

// mostTeams bounds the teams of Now.
const mostTeams = 10

// posted is how long after its end a minute is complete: processes post every [recent.Every].
const posted = recent.Every + 2*time.Second

// Now returns the traffic of the last hour in minutes, or of the last day in steps of 15 minutes, and today's use.
func (f *Figures) Now(ctx context.Context, p access.Person, day bool) (Now, error) {
	at := f.Deps.Now()
	n := Now{At: at, Step: time.Minute}
	from := at.Truncate(time.Minute).Add(-59 * time.Minute)
	if day {
		n.Step, from = 15*time.Minute, at.Truncate(15*time.Minute).Add(-95*15*time.Minute)
	}
	var minutes []recent.Minute
	var lines []TeamLine
	var reading Group
	reading.Go(func() (err error) { minutes, err = f.minutes(ctx, p, from, at); return err })
	reading.Go(func() (err error) { lines, n.Today, n.Refused, err = f.today(ctx, p, at); return err })
	if err := reading.Wait(); err != nil {
		return n, err
	}
	n.Steps = stepsOf(minutes, from, at, n.Step)
	n.Rate, n.Overhead = pace(minutes, at)
	n.Known = len(lines)
	n.Teams = busiest(lines)
	if house := f.Teams().House; house != nil && p.SeesAll() {
		n.House = f.Balances.LastKnown(house.Account).Limits
	}
	n.Faults = f.FaultList(ctx, p)
	return n, nil
}

// today returns each team's use of the day, without its nearest limit, the use of all, and how many requests were refused.
func (f *Figures) today(ctx context.Context, p access.Person, at time.Time) (lines []TeamLine, all Use, refused int64, err error) {
	teams, every := f.visible(p)
	ids, day := idsOf(teams), price.DayOf(at)
	var counts map[string]recent.Counts
	var b book
	var reading Group
	reading.Go(func() (err error) { counts, err = f.Recent.Day(ctx, append(ids, ""), at); return err })
	reading.Go(func() (err error) { b, err = f.book(ctx, p, "", dates{spans: [][]int{{day}}}, "team"); return err })
	if err := reading.Wait(); err != nil {
		return nil, all, 0, err
	}
	use := adder{}
	b.add(&use, []int{day}, "team")
	for _, team := range teams {
		c := counts[team.ID]
		lines = append(lines, TeamLine{team.ID, TeamUse{Today: use.use(team.ID), Refused: c.Refused()}})
		refused += c.Refused()
	}
	if every {
		c := counts[""]
		refused = c.Refused()
	}
	return lines, b.total(day), refused, nil
}

// Lines returns today's use of each team that a person sees, by id, and under "" the house's nearest limit.
func (f *Figures) Lines(ctx context.Context, p access.Person) (map[string]TeamUse, error) {
	var list []TeamLine
	var inside map[string][]limit.Standing
	var reading Group
	reading.Go(func() (err error) { list, _, _, err = f.today(ctx, p, f.Deps.Now()); return err })
	reading.Go(func() error { inside = f.inner.of(ctx, f); return nil })
	err := reading.Wait()
	f.nearest(ctx, list, inside)
	lines := make(map[string]TeamUse, len(list)+1)
	if near := f.houseNear(p, f.Teams().House); near != nil {
		lines[""] = TeamUse{Nearest: near}
	}
	for _, line := range list {
		lines[line.ID] = line.TeamUse
	}
	return lines, err
}

// busiest returns the teams with the most use, without idle ones.
func busiest(lines []TeamLine) []TeamLine {
	lines = slices.DeleteFunc(lines, func(l TeamLine) bool { return l.Today == Use{} && l.Refused == 0 })
	slices.SortStableFunc(lines, func(a, b TeamLine) int {
		return compareUse(Row{a.ID, a.Today}, Row{b.ID, b.Today})
	})
	return lines[:min(len(lines), mostTeams)]
}

// stepsOf adds minutes up into steps without gaps.
func stepsOf(minutes []recent.Minute, from, to time.Time, step time.Duration) []Step {
	steps := make([]Step, 0, to.Sub(from)/step+1)
	for at := from; !at.After(to); at = at.Add(step) {
		steps = append(steps, Step{At: at})
	}
	for i := range minutes {
		m := &minutes[i]
		if n := int(m.At.Sub(from) / step); n >= 0 && n < len(steps) {
			steps[n].Requests += m.Requests
			steps[n].Refused += m.Refused()
			steps[n].Failed += m.Failed
		}
	}
	return steps
}

// pace returns the requests per second of the last whole minute, and Sluice's own time per request of the last five.
func pace(minutes []recent.Minute, at time.Time) (rate float64, overhead time.Duration) {
	ends := at.Add(-posted).Truncate(time.Minute)
	var last, all recent.Counts
	for i := range minutes {
		m := &minutes[i]
		if ago := ends.Sub(m.At); ago > 0 && ago <= 5*time.Minute {
			all.Add(&m.Counts)
			if ago == time.Minute {
				last.Add(&m.Counts)
			}
		}
	}
	if all.Requests > 0 {
		overhead = all.Overhead / time.Duration(all.Requests)
	}
	return float64(last.Requests) / 60, overhead
}
