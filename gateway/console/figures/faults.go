package figures

import (
	"context"
	"fmt"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/account"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry/pulse"
	"sluice/telemetry/recent"
)

const (
	lookedAt     = 1000             // requests in which faults are looked for
	refusedFor   = 10 * time.Minute // in which every request of a team was refused
	leastRefused = 10               // requests
	fullFrom     = 95               // per cent of a limit
	keysEnd      = 7 * 24 * time.Hour
	hookLate     = 5 * time.Minute
)

// FaultList lists what is wrong, the service first, as far as a person may see it. What cannot be read is left out: the process's own faults say
// why.
func (f *Figures) FaultList(ctx context.Context, p access.Person) (list []Fault) {
	now := f.Deps.Now()
	lines, err := f.lastRequests(ctx, p, now)
	service, wrong := pulse.Judge(outcomesOf(lines), now)
	// Requests that hang end long after they came: the newest ones, by when they came, may have none of them. This replica knows its own.
	if (err != nil || !wrong) && f.Pulse != nil && p.SeesAll() {
		service, wrong = f.Pulse(now)
	}
	if wrong {
		list = append(list, Fault{"service", "", service.Text, &service.Since, int64(service.Failed), int64(service.Of)})
	}
	visible, all := f.visible(p)
	if all {
		list = append(list, f.slow.faults(ctx, f.Lately, now)...)
	}
	list = append(list, refusedTeams(lines, now)...)
	if all {
		list = append(list, f.accountFaults()...)
	}
	list = append(list, f.fullLimits(visible, all)...)
	if all && f.Hooks != nil {
		list = append(list, hookFaults(f.Hooks())...)
	}
	list = append(list, endingKeys(visible, now)...)
	if all {
		list = append(list, f.own()...)
	}
	return list
}

// lastRequests are the last ones, of the teams that a person sees, without polls.
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
		r := &lines[i]
		if o, asked := pulse.OutcomeOf(r.At.Add(r.Duration), r.Refusal, r.Status, r.Upstream); asked {
			list = append(list, o)
		}
	}
	return list
}

// refusedTeams are the teams whose every request was refused with 429 lately.
func refusedTeams(lines []recent.Request, now time.Time) (list []Fault) {
	refused, served, since, names := map[string]int64{}, map[string]bool{}, map[string]time.Time{}, map[string]string{}
	for i := range lines {
		r := &lines[i]
		switch {
		case r.Team == "" || served[r.Team] || now.Sub(r.At) > refusedFor:
		case r.Status == 429 && recent.Refused(r.Refusal):
			refused[r.Team]++
			since[r.Team] = r.At
			if names[r.Team] == "" {
				names[r.Team] = r.Refusal
			}
		default:
			served[r.Team] = true
			delete(refused, r.Team)
		}
	}
	for team, n := range refused {
		if n >= leastRefused {
			at := since[team]
			list = append(list, Fault{"refused", team, fmt.Sprintf("each of its last %d requests was refused, the last by %s", n, names[team]), &at, n, n})
		}
	}
	return atMost(list)
}

// accountFaults are the accounts at the service that are cooling or out.
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

// fullLimits are the quotas of teams, and of the house, of which nearly all is used or held, as last known.
func (d *Deps) fullLimits(visible []*teams.Team, all bool) (list []Fault) {
	full := func(subject string, report limit.Report) {
		for i := range report.Limits {
			l := &report.Limits[i]
			if l.Period == "" || l.Limit <= 0 {
				continue
			}
			if percent := int64(float64(l.Used+l.Held) / float64(l.Limit) * 100); percent >= fullFrom {
				list = append(list, Fault{Kind: "limit", Subject: subject, Text: fmt.Sprintf("%d %% of its quota %s are used or held", percent, l.Name()), Count: percent, Of: 100})
			}
		}
	}
	if house := d.Teams().House; house != nil && all {
		full("the house", d.Accounts.LastKnown(house.Account))
	}
	for _, team := range visible {
		if len(team.Quotas) > 0 {
			full(team.ID, d.Accounts.LastKnown(team))
		}
	}
	return atMost(list)
}

// endingKeys are the keys that end within a week.
func endingKeys(visible []*teams.Team, now time.Time) (list []Fault) {
	for _, team := range visible {
		for i := range team.Keys {
			k := &team.Keys[i]
			if left := k.Expires.Sub(now); !k.Expires.IsZero() && !k.Disabled && !team.Disabled && left > 0 && left <= keysEnd {
				list = append(list, Fault{Kind: "key", Subject: team.ID, Text: "its key " + k.ID + " ends on " + k.Expires.UTC().Format("2 Jan 15:04 UTC")})
			}
		}
	}
	return atMost(list)
}

// hookFaults are the hooks that do not take their events, by the ages of the oldest.
func hookFaults(oldest map[string]time.Duration) (list []Fault) {
	for id, age := range oldest {
		if age >= hookLate {
			list = append(list, Fault{Kind: "hook", Subject: id, Text: "does not take its events; the oldest waits for " + age.Round(time.Second).String()})
		}
	}
	return atMost(list)
}

// own are the faults of the process.
func (d *Deps) own() (list []Fault) {
	if d.Faults != nil {
		list = d.Faults()
	}
	for i := range list {
		list[i].Kind = "process"
	}
	return list
}
