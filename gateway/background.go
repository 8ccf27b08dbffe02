package gateway

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sluice/policy/teams"
	"sluice/telemetry"
)

// backgroundEvery is the pace of the work that no request waits for.
const backgroundEvery = time.Second

// Work does what is due beside the requests, until ctx ends. One goroutine runs it for as long as the gateway serves.
func (g *Gateway) Work(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	accounts, claims := news{g.deps.Logger, "accounts", ""}, news{g.deps.Logger, "tasks", ""}
	quotas := quotaWatch{live: g.live, accounts: g.deps.Accounts, metrics: g.deps.Metrics, shown: make(map[string]bool)}
	for _, do := range []func(){
		func() { accounts.log(g.deps.Accounts.Maintain(ctx)) },
		func() { claims.log(g.deps.Claims.Maintain(ctx)) },
		func() { g.tasks.Finish(ctx) },
		func() { quotas.round(ctx) },
		func() { g.inspection.buffers.Age(g.deps.Now()) },
	} {
		working.Go(func() { every(ctx, do) })
	}
}

func every(ctx context.Context, do func()) {
	tick := time.NewTicker(backgroundEvery)
	defer tick.Stop()
	for {
		do()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// news logs an error when it is new: the same error every second is one line.
type news struct {
	logger *slog.Logger
	of     string
	last   string // the last error; empty: the last round had none
}

func (n *news) log(err error) {
	if err == nil {
		n.last = ""
		return
	}
	if text := err.Error(); text != n.last {
		n.logger.Error(n.of, slog.String("error", text))
		n.last = text
	}
}

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
