package gateway

import (
	"context"

	"sluice/policy/teams"
	"sluice/telemetry"
)

// quotaRounds is how many rounds it takes to look at every team's quotas once. A look costs a call of Redis.
const quotaRounds = 10

// quotaWatch shows in the metrics how far quotas are used. One goroutine uses it.
type quotaWatch struct {
	live     *live
	accounts Accounts
	metrics  *telemetry.Metrics
	shown    map[string]bool // teams whose quotas the metrics show
	next     int
}

// round looks at the next few teams.
func (q *quotaWatch) round(ctx context.Context) {
	file := q.live.teams.Load()
	q.forget(file)
	list := file.List
	for range (len(list) + quotaRounds - 1) / quotaRounds {
		team := list[q.next%len(list)]
		q.next++
		if len(team.Quotas) > 0 {
			q.look(ctx, team)
		}
	}
}

func (q *quotaWatch) look(ctx context.Context, team *teams.Team) {
	report, err := q.accounts.Look(ctx, team)
	if err != nil {
		return // the metrics keep the last value
	}
	var uses []telemetry.QuotaUse
	for i := range report.Limits {
		if s := &report.Limits[i]; s.Period != "" && s.Limit > 0 {
			uses = append(uses, telemetry.QuotaUse{Unit: string(s.Unit), Period: string(s.Period), Ratio: float64(s.Used+s.Held) / float64(s.Limit)})
		}
	}
	q.metrics.Quotas(team.ID, uses)
	q.shown[team.ID] = true
}

// forget removes teams from the metrics that have no quotas any more.
func (q *quotaWatch) forget(file *teams.File) {
	for id := range q.shown {
		if team := file.Team(id); team == nil || len(team.Quotas) == 0 {
			q.metrics.Quotas(id, nil)
			delete(q.shown, id)
		}
	}
}
