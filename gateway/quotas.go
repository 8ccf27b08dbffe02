package gateway

import (
	"context"

	"sluice/policy/teams"
	"sluice/telemetry"
)

// quotaRounds is in how many turns of the worker every team's quotas are looked at once. A look costs a call of Redis.
const quotaRounds = 10

// quotaWatch shows how far quotas are used. One goroutine has it.
type quotaWatch struct {
	gateway *Gateway
	shown   map[string]bool
	next    int
}

// turn looks at the next few teams.
func (q *quotaWatch) turn(ctx context.Context) {
	list := q.gateway.teams.Load().List
	q.forget(q.gateway.teams.Load())
	for range (len(list) + quotaRounds - 1) / quotaRounds {
		team := list[q.next%len(list)]
		q.next++
		if len(team.Quotas) > 0 {
			q.look(ctx, team)
		}
	}
}

func (q *quotaWatch) look(ctx context.Context, team *teams.Team) {
	report, err := q.gateway.deps.Accounts.Look(ctx, team)
	if err != nil {
		return // what was shown last stays
	}
	var uses []telemetry.QuotaUse
	for i := range report.Limits {
		if s := &report.Limits[i]; s.Period != "" && s.Limit > 0 {
			uses = append(uses, telemetry.QuotaUse{Unit: string(s.Unit), Period: string(s.Period), Ratio: float64(s.Used+s.Held) / float64(s.Limit)})
		}
	}
	q.gateway.deps.Metrics.Quotas(team.ID, uses)
	q.shown[team.ID] = true
}

// forget takes teams off the page that have no quotas any more.
func (q *quotaWatch) forget(file *teams.File) {
	for id := range q.shown {
		if team := file.Team(id); team == nil || len(team.Quotas) == 0 {
			q.gateway.deps.Metrics.Quotas(id, nil)
			delete(q.shown, id)
		}
	}
}
