package gateway

import (
	"context"

	"sluice/cache"
	"sluice/gateway/tasks"
	"sluice/policy/limit"
	"sluice/telemetry"
)

// settle charges what the request used, as far as that is known when its answer has ended. The client may have left.
func (a *admission) settle(ctx context.Context, s *requestState) {
	a.claims.claimUnseen(s)
	used, flag := s.outcome()
	s.unknown = s.repeats != nil && s.exchange.Reached && s.doubtful() // charged or not: it must not be repeated
	switch flag {
	case telemetry.FlagTask: // the task's end settles it
		_ = a.deps.Accounts.Extend(context.WithoutCancel(ctx), s.held, a.tasks.Lease()) // Accounts repeats it until it succeeds
	case telemetry.FlagUnknown: // the service may have done the work: the hold stays, and is charged when its lease ends
		s.unknown = true
		_ = a.deps.Accounts.Extend(context.WithoutCancel(ctx), s.held, unknownLease)
	default:
		held := s.held
		if s.claimed && !held.Task { // its stream settled it; the end of the task may be heard later, and must find it settled
			task := *held
			task.Task, held = true, &task
		}
		s.Cost = tasks.Cost(used, flag)
		a.deps.Accounts.SettleLater(&limit.Charge{
			Held: held, Team: a.live.teams.Load().Team(s.Team), Amounts: used, Estimated: flag == telemetry.FlagEstimated, Taken: a.report(s),
		})
	}
}

// report returns what reports the cost of a request once it is charged. That may be much later, so it keeps nothing else of
// the request, whose body may be large.
func (a *admission) report(s *requestState) func(first bool) {
	team, label, cost := s.Team, s.Label, s.Cost
	var task *telemetry.Task
	if s.claimed {
		task = streamedTask(s)
		task.Ended = a.deps.Now()
	}
	return func(first bool) {
		a.refusals.forget(team) // the charge has made room; a refusal was perhaps remembered while it waited
		if !first {
			return
		}
		a.deps.Metrics.Settlement(cost.Flag)
		a.deps.Metrics.Used(team, label, cost.Amounts)
		if task != nil {
			a.tasks.Report(task)
		}
	}
}

// streamedTask is a task that ended in the stream of its creation.
func streamedTask(s *requestState) *telemetry.Task {
	return &telemetry.Task{
		Request: s.ID, Creation: s.creation, Key: s.Key, ID: s.Task, Model: s.Model, Team: s.Team, Outcome: tasks.Outcome(cache.Status(s.reading.TaskStatus)),
		Images: s.Cost.Amounts[limit.Images], Usage: s.Usage, Cost: s.Cost, Held: s.Held, Estimated: s.Cost.Flag == telemetry.FlagEstimated, SettledBy: tasks.ByStream,
		Submitted: s.Time, Started: s.Time,
	}
}

// chargeTask charges what a task's creation holds.
func (a *admission) chargeTask(ctx context.Context, charge *limit.Charge) {
	team, taken := charge.Held.Team, charge.Taken
	charge.Team = a.live.teams.Load().Team(team)
	charge.Taken = func(first bool) {
		a.refusals.forget(team) // as in report
		taken(first)
	}
	_, _ = a.deps.Accounts.Settle(ctx, charge) // Accounts keeps it and tries again
	a.refusals.forget(team)
}

// fullTeams are the teams that may have no more open tasks. They wait for an end, so the finisher queries theirs first.
func (a *admission) fullTeams() map[string]bool {
	full := map[string]bool{}
	for _, team := range a.live.teams.Load().List {
		if team.OpenTasks > 0 && a.deps.Accounts.OpenTasks(team.ID) >= int64(team.OpenTasks) {
			full[team.ID] = true
		}
	}
	return full
}
