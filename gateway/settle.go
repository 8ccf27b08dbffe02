package gateway

import (
	"context"
	"net/http"
	"time"

	"sluice/cache"
	"sluice/gateway/billing"
	"sluice/gateway/repeats"
	"sluice/gateway/tasks"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry"
)

// unknownLease is how long a request with an unknown outcome keeps its hold before it is charged as estimated.
const unknownLease = time.Hour

// charges settles the holds of requests and tasks.
type charges struct {
	deps     *Deps
	live     *live
	refusals *repeats.Recent

	contradictions *billing.Contradictions
}

// settle charges what the request used, as far as that is known when its answer has ended. The client may have left.
func (a *admission) settle(w *reply, r *http.Request, s *requestState) {
	ctx := r.Context()
	a.claims.claimUnseen(s)
	charge := &limit.Charge{Held: s.held}
	ending := s.ending()
	ending.Awaited = s.claimed && a.tasks.Awaited(s.Team, s.callback)
	flag := ending.Charge(charge, &s.pricing)
	s.unknown = s.repeats != nil && ending.Reached && ending.Doubtful() // charged or not: it must not be repeated
	switch flag {
	case telemetry.FlagTask: // the task's end settles it
		if ending.Counts() {
			a.tasks.Streamed(context.WithoutCancel(ctx), s.Team, s.Task, &s.reading)
		}
		_ = a.deps.Balances.Extend(context.WithoutCancel(ctx), s.held, a.tasks.Lease()) // Balances retry it until it succeeds
	case telemetry.FlagUnknown: // the service may have done the work: the hold stays, and is charged when its lease ends
		s.unknown = true
		_ = a.deps.Balances.Extend(context.WithoutCancel(ctx), s.held, unknownLease)
	default:
		if s.claimed && !s.held.Task { // its stream settled it; the task's end may be reported later, and must find it settled
			charge.Held = s.held.AsTask()
		}
		s.Cost = tasks.Cost(charge.Amounts, s.team.Money, flag)
		charge.Team, charge.Estimated = a.live.teams().Team(s.Team), flag == telemetry.FlagEstimated
		a.report(s, charge)
		if !s.claimed { // else the task's end is announced
			charge.Event = tasks.RequestEvent(a.deps.To, &s.Record, func() { measure(w, r, a.deps.Now()) })
		}
		a.deps.Balances.SettleLater(charge)
	}
	if s.unpriced(charge) {
		a.deps.Metrics.Unpriced(s.Label)
	}
	if s.pricing.Contradicts {
		a.contradictions.Note(s.ID, s.Team, s.Model)
	}
}

// report has a request's cost reported once it is charged. That may be much later, so the charge keeps nothing else of the request,
// whose body may be large.
func (a *admission) report(s *requestState, charge *limit.Charge) {
	team, label, cost := s.Team, s.Label, s.Cost
	var task *telemetry.Task
	if s.claimed {
		task = streamedTask(s, a.deps.Now())
		charge.Event = a.tasks.Event(task, nil, s.callback)
	}
	charge.Taken = func(first bool) {
		a.refusals.Forget(team) // the charge has made room; a refusal was perhaps remembered while it waited
		if !first {
			return
		}
		a.deps.Metrics.Settlement(cost.Flag)
		a.deps.Metrics.Used(team, label, &cost)
		if task != nil {
			a.tasks.Report(task)
		}
	}
}

// streamedTask is a task that ended in the stream of its creation.
func streamedTask(s *requestState, ended time.Time) *telemetry.Task {
	return &telemetry.Task{
		Request: s.ID, Creation: s.creation, Key: s.Key, ID: s.Task, Model: s.Model, Team: s.Team,
		Outcome: tasks.Outcome(cache.Status(s.reading.TaskStatus)),
		Images:  s.Cost.Amounts[limit.Images], Usage: s.Usage, Cost: s.Cost, Held: s.Held, Estimated: s.Cost.Flag == telemetry.FlagEstimated,
		SettledBy: tasks.ByStream, Account: s.Account, Submitted: s.Time, Started: s.Time, Ended: ended,
	}
}

// quotasOf returns the quotas outside of the teams with this id: the house's, or those of an account at the service; nil: they no longer
// exist.
func (a charges) quotasOf(file *teams.File, id string) *teams.Team {
	if of, ok := teams.AccountOfQuotas(id); ok {
		return a.live.pool.Quotas(of)
	}
	return file.House.Quotas()
}

// chargeTask charges what a task's creation holds.
func (a charges) chargeTask(ctx context.Context, charge *limit.Charge) {
	file, team, taken := a.live.teams(), charge.Held.Team, charge.Taken
	charge.Team = file.Team(team)
	for _, h := range charge.Held.Outer {
		h.Document = a.quotasOf(file, h.Team)
	}
	charge.Taken = func(first bool) {
		a.refusals.Forget(team) // as in report
		taken(first)
	}
	_, _ = a.deps.Balances.Settle(ctx, charge) // Balances keep it and retry
	a.refusals.Forget(team)
}

// fullTeams are the teams at their limit of open tasks. They wait for a task to end, so the finisher queries theirs first.
func (a charges) fullTeams() map[string]bool {
	full := map[string]bool{}
	for _, team := range a.live.teams().List {
		if team.OpenTasks > 0 && a.deps.Balances.OpenTasks(team.ID) >= int64(team.OpenTasks) {
			full[team.ID] = true
		}
	}
	return full
}
