package gateway

import (
	"context"

	"sluice/gateway/tasks"
	"sluice/policy/limit"
)

func (g *Gateway) tasksConfig() tasks.Config {
	return tasks.Config{TTL: g.config.TaskTTL, Interval: g.config.PollInterval, Zone: g.config.TaskZone}
}

func (g *Gateway) tasksDeps() tasks.Deps {
	return tasks.Deps{
		Now: g.deps.Now, Claims: g.deps.Claims, Queries: g.deps.Queries, Cancels: g.deps.Cancels,
		Ask: g.askTask, Charge: g.chargeTask, Full: g.fullTeams,
		Label:   func(model string) string { return g.teams.Load().Label(model) },
		Cover:   func(text string) string { return g.upstreamKey.Load().Cover(text) },
		Metrics: g.deps.Metrics, Traces: g.deps.Traces, Logger: g.deps.Logger,
	}
}

// askTask asks upstream about a task on behalf of no client.
func (g *Gateway) askTask(q *tasks.Query) (tasks.Reply, error) {
	c := &call{gateway: g, match: match{route: g.poll}, client: context.Background(), method: get, alone: q.Finisher, creation: q.Creation}
	c.Team, c.Task, c.Model, c.Label, c.Span = q.Team, q.Task, q.Model, g.teams.Load().Label(q.Model), q.Parent
	got, err := g.upstream.do(c, get, "tasks/"+q.Task)
	return tasks.Reply{Status: c.UpstreamStatus, UpstreamID: c.UpstreamID, Body: got.body}, err
}

// chargeTask charges what a task's creation holds. Where that fails it is kept and tried again.
func (g *Gateway) chargeTask(ctx context.Context, charge *limit.Charge) {
	team, taken := charge.Held.Team, charge.Taken
	charge.Team = g.teams.Load().Team(team)
	charge.Taken = func(first bool) {
		g.memos.forget(team) // as in counting
		taken(first)
	}
	_, _ = g.deps.Accounts.Settle(ctx, charge)
	g.memos.forget(team)
}

// fullTeams are those that may have no more open tasks: they wait for room, and go first.
func (g *Gateway) fullTeams() map[string]bool {
	full := map[string]bool{}
	for _, team := range g.teams.Load().List {
		if team.OpenTasks > 0 && g.deps.Accounts.OpenTasks(team.ID) >= int64(team.OpenTasks) {
			full[team.ID] = true
		}
	}
	return full
}
