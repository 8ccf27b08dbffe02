package figures

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/account"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry/pulse"
	"sluice/telemetry/recent"
)

const (
	lookedAt     = 1000             // requests that are searched for faults; the minutes give their beginning
	longestIdle  = time.Hour        // the longest time without a request within one fault
	refusedFor   = 10 * time.Minute // every request of a team in this time was refused
	leastRefused = 10               // requests
	fullFrom     = 95               // per cent of a limit
	keysEnd      = 7 * 24 * time.Hour
	hookLate     = 5 * time.Minute
)

// FaultList returns what is wrong, the service first, as far as a person may see it. It leaves out what cannot be read: the process's own
// faults give the reason.
func (f *Figures) FaultList(ctx context.Context, p access.Person) (list []Fault) {
	now := f.Deps.Now()
	lines, err := f.lastRequests(ctx, p, now)
	service, wrong := pulse.Judge(outcomesOf(lines), now)
	switch {
	case wrong:
		service.Since, _ = f.since(ctx, f.whoseMinutes(p), service.Since,
			func(c *recent.Counts) bool { return pulse.Many(c.Failed, c.Requests-c.Refused()-c.Polls) })
	case err != nil && f.Pulse != nil && p.SeesAll():
		service, wrong = f.Pulse(now)
	}
	if wrong {
		list = append(list, Fault{"service", "", service.Text, &service.Since, int64(service.Failed), int64(service.Of)})
	}
	visible, all := f.visible(p)
	if all {
		list = append(list, f.slow.faults(ctx, f.Recent, now)...)
	}
	list = append(list, f.refusedTeams(ctx, lines, now)...)
	if all {
		list = append(list, f.accountFaults()...)
	}
	list = append(list, f.fullLimits(ctx, visible, all)...)
	if all && f.Hooks != nil {
		list = append(list, hookFaults(f.Hooks())...)
	}
	list = append(list, endingKeys(visible, now)...)
	if all {
		list = append(list, f.own()...)
	}
	return list
}

// lastRequests returns the last requests of the teams that a person sees, without polls.
func (f *traffic) lastRequests(ctx context.Context, p access.Person, now time.Time) ([]recent.Request, error) {
	whose, err := f.whose(p)
	if err != nil {
		return nil, err
	}
	page, err := f.recent(ctx, recent.Filter{Teams: whose, NoPolls: true, From: now.Add(-time.Hour), Size: lookedAt})
	return page.Requests, err
}

func outcomesOf(lines []recent.Request) (list []pulse.Outcome) {
	for i := range lines {
		if o, asked := pulse.OutcomeOf(lines[i].Outcome()); asked {
			list = append(list, o)
		}
	}
	return list
}

// since returns when a fault at a moment began: the first of the preceding minutes that are all bad or have no request, or the moment
// itself if the minutes cannot be read. counted is the number of requests since then.
func (f *traffic) since(ctx context.Context, teams []string, at time.Time, bad func(*recent.Counts) bool) (begun time.Time, counted int64) {
	list, _ := f.deps.Recent.Minutes(ctx, teams, at.Add(-recent.Kept), f.deps.Now())
	minutes := map[time.Time]*recent.Counts{}
	for i := range list {
		if minutes[list[i].At] == nil {
			minutes[list[i].At] = new(recent.Counts)
		}
		minutes[list[i].At].Add(&list[i].Counts)
	}
	begun = at
	for _, start := range slices.Backward(slices.SortedFunc(maps.Keys(minutes), time.Time.Compare)) {
		c := minutes[start]
		if !start.After(at) && (!bad(c) || begun.Sub(start) > longestIdle) {
			break
		}
		counted += c.Requests
		if start.Before(begun) {
			begun = start
		}
	}
	return begun, counted
}

// refusedTeam has the refusals of a team.
type refusedTeam struct {
	count int64
	first time.Time
	names []string // of the refusals, newest first
}

// refusedTeams returns the teams whose recent requests were all refused with 429.
func (f *traffic) refusedTeams(ctx context.Context, lines []recent.Request, now time.Time) (list []Fault) {
	refused, served := map[string]*refusedTeam{}, map[string]bool{}
	for i := range lines {
		r := &lines[i]
		switch {
		case r.Team == "" || served[r.Team] || now.Sub(r.At) > refusedFor:
		case r.Status == 429 && recent.Refused(r.Refusal):
			of := refused[r.Team]
			if of == nil {
				of = new(refusedTeam)
				refused[r.Team] = of
			}
			of.count, of.first = of.count+1, r.At
			if !slices.Contains(of.names, r.Refusal) {
				of.names = append(of.names, r.Refusal)
			}
		default:
			served[r.Team] = true
			delete(refused, r.Team)
		}
	}
	for team, of := range refused {
		if of.count < leastRefused {
			continue
		}
		since, n := f.since(ctx, []string{team}, of.first, func(c *recent.Counts) bool {
			left := c.Requests
			for _, name := range of.names {
				left -= c.Refusals[name]
			}
			return left == 0
		})
		n = max(n, of.count)
		list = append(list, Fault{
			"refused", team, fmt.Sprintf("each of its last %d requests was refused, the last by %s", n, of.names[0]),
			&since, n, n,
		})
	}
	return atMost(list)
}

// accountFaults returns the accounts at the service that are cooling or out.
func (d *Deps) accountFaults() (list []Fault) {
	for _, s := range d.standings() {
		if s.State != account.Out && s.State != account.Cooling {
			continue
		}
		fault := Fault{Kind: "account", Subject: s.ID, Text: s.Line()}
		if !s.Since.IsZero() {
			fault.Since = &s.Since
		}
		list = append(list, fault)
	}
	return list
}

// fullLimits returns the teams, and the house, that have used or held nearly all of a quota, also of a tag's value or key, or of their
// open tasks, each with the nearest such limit. Rates and concurrency change within moments; a team that they refuse for long is in
// refusedTeams.
func (f *Figures) fullLimits(ctx context.Context, visible []*teams.Team, all bool) (list []Fault) {
	full := func(subject string, team *teams.Team, inside []limit.Standing) {
		known := f.Balances.LastKnown(team)
		var nearest *Near
		count := 0
		consider := func(name string, s *limit.Standing) {
			if one := nearer(nil, name, s); one != nil && one.Percent >= fullFrom {
				nearest, count = nearer(nearest, name, s), count+1
			}
		}
		for _, some := range [][]limit.Standing{known.Limits, inside} {
			for i := range some {
				if some[i].Period != "" {
					consider(some[i].Name(), &some[i])
				}
			}
		}
		consider("open_tasks", &limit.Standing{Used: known.Tasks, Limit: int64(team.OpenTasks)})
		if nearest == nil {
			return
		}
		of, more := "", ""
		if nearest.Of != "" {
			of = " of " + nearest.Of
		}
		if count == 2 {
			more = "; so is 1 more of its limits"
		} else if count > 2 {
			more = fmt.Sprintf("; so are %d more of its limits", count-1)
		}
		percent := int64(nearest.Percent)
		list = append(list, Fault{
			Kind: "limit", Subject: subject,
			Text: fmt.Sprintf("%d %% of its limit %s%s are used or held%s", percent, nearest.Name, of, more), Count: percent, Of: 100,
		})
	}
	if house := f.Teams().House; house != nil && all {
		full("the house", house.Account, nil)
	}
	inside := f.inner.of(ctx, f)
	for _, team := range visible {
		if !team.Shadow { // its limits refuse nothing
			full(team.ID, team, inside[team.ID])
		}
	}
	return atMost(list)
}

// endingKeys returns the keys that end within a week.
func endingKeys(visible []*teams.Team, now time.Time) (list []Fault) {
	for _, team := range visible {
		for i := range team.Keys {
			k := &team.Keys[i]
			if left := k.Expires.Sub(now); !k.Expires.IsZero() && !k.Disabled && !team.Disabled && left > 0 && left <= keysEnd {
				list = append(list, Fault{
					Kind: "key", Subject: team.ID,
					Text: "its key " + k.ID + " ends on " + k.Expires.UTC().Format("2 Jan 15:04 UTC"),
				})
			}
		}
	}
	return atMost(list)
}

// hookFaults returns the hooks that have not taken an event for hookLate.
func hookFaults(oldest map[string]time.Duration) (list []Fault) {
	for id, age := range oldest {
		if age >= hookLate {
			list = append(list, Fault{Kind: "hook", Subject: id, Text: "does not take its events; the oldest waits for " +
				age.Round(time.Second).String()})
		}
	}
	return atMost(list)
}

// own returns the faults of the process.
func (d *Deps) own() (list []Fault) {
	if d.Faults != nil {
		list = d.Faults()
	}
	for i := range list {
		list[i].Kind = "process"
	}
	return list
}
