package gateway

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"sluice/cache"
	"sluice/gateway/billing"
	"sluice/gateway/tasks"
	"sluice/gateway/turn"
	"sluice/gateway/wire"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry"
)

// unknownLease is how long a request with an unknown outcome keeps its hold before it is charged as estimated.
const unknownLease = time.Hour

// charges charges what requests and tasks used.
type charges struct {
	deps     *Deps
	live     *live
	refusals *recentRefusals

	contradictions *billing.Contradictions
}

// admission holds what a request may cost, and settles it.
type admission struct {
	charges
	tasks  *tasks.Tasks
	claims *claims
	lease  time.Duration // of a request's hold

	throttle *throttle
	queue    *turn.Queue
	outsides limit.Outsides
}

// admit holds what the request may cost before anything is sent, and settles it once the answer has ended in any way.
func (a *admission) admit(next handler) handler {
	return func(w *reply, r *http.Request, s *requestState) error {
		if err := a.inTurn(w, r, s); err != nil || s.held == nil { // without an error the client has left
			return err
		}
		defer a.settle(r.Context(), s)
		return next(w, r, s)
	}
}

// holdApart is hold for streams, on another stack: Redis needs much stack, and a stream would keep it.
func (a *admission) holdApart(w *reply, r *http.Request, s *requestState) (err error) {
	wire.Apart(func() { err = a.hold(w, r, s) })
	return err
}

// holdOf is the hold that a request asks for.
func (a *admission) holdOf(s *requestState) *limit.Hold {
	return &limit.Hold{
		ID: s.ID, Team: s.team, Outside: a.outsides.For(s.teams, nil, s.Model), Model: s.Model, Endpoint: s.route.endpoint, Tag: s.tag, Key: s.holder,
		Amounts: s.size, Task: s.creates, Lease: a.lease,
	}
}

func (a *admission) hold(w *reply, r *http.Request, s *requestState) error {
	hold := a.holdOf(s)
	verdict, err := a.deps.Accounts.Admit(r.Context(), hold)
	if err != nil {
		return refuse(refuseState).say("The limits of team %s cannot be read at the moment; send the request again.", s.Team).because(err).retry(time.Second)
	}
	if policy, left := verdict.Fields(); policy != "" {
		w.Header()["Ratelimit-Policy"], w.Header()["Ratelimit"] = s.values.one(policy), s.values.one(left)
	}
	if verdict.Held == nil {
		refused := refuse(refusedBy[verdict.Reason]).say("%s", verdict.Explain(hold)).retry(verdict.Wait).keepHeaders().of(verdict.Fault.Scope).waits(turn.RefusalOf(&verdict, hold))
		now := a.deps.Now()
		a.refusals.remember(s.Team, &verdict, recentRefusal{
			refusal: refused, header: w.Header(), until: now.Add(min(verdict.Wait, recentFor)), fits: now.Add(verdict.Wait),
		})
		return refused
	}
	if verdict.Reason != limit.ReasonNone {
		w.Header().Add("Sluice-Shadow", "admit/"+string(verdict.Reason))
	}
	if n := s.size[limit.Images]; n > 0 {
		w.Header().Set("Sluice-Held", fmt.Sprintf("images=%d", n))
	}
	s.held, s.Held = verdict.Held, tasks.Cost(s.size, s.team.Money, "")
	s.terms.Look(s.teams.Prices, s.Model, s.held.Day) // it may have begun while the request arrived
	return nil
}

// refusedBy maps each reason of the accounts to its row.
var refusedBy = map[limit.Reason]*reason{
	limit.ReasonNever: refuseNever, limit.ReasonRate: refuseRate, limit.ReasonTasks: refuseTasks, limit.ReasonAccount: refuseAccount, limit.ReasonQuota: refuseQuota,
	limit.ReasonHouse: refuseHouse,
}

// settle charges what the request used, as far as that is known when its answer has ended. The client may have left.
func (a *admission) settle(ctx context.Context, s *requestState) {
	a.claims.claimUnseen(s)
	charge := &limit.Charge{Held: s.held}
	ending := s.ending()
	flag := ending.Charge(charge, &s.terms)
	s.unknown = s.repeats != nil && ending.Reached && ending.Doubtful() // charged or not: it must not be repeated
	switch flag {
	case telemetry.FlagTask: // the task's end settles it
		_ = a.deps.Accounts.Extend(context.WithoutCancel(ctx), s.held, a.tasks.Lease()) // Accounts retries it until it succeeds
	case telemetry.FlagUnknown: // the service may have done the work: the hold stays, and is charged when its lease ends
		s.unknown = true
		_ = a.deps.Accounts.Extend(context.WithoutCancel(ctx), s.held, unknownLease)
	default:
		if s.claimed && !s.held.Task { // its stream settled it; the task's end may be reported later, and must find it settled
			charge.Held = s.held.AsTask()
		}
		s.Cost = tasks.Cost(charge.Amounts, s.team.Money, flag)
		charge.Team, charge.Estimated, charge.Taken = a.live.teams.Load().Team(s.Team), flag == telemetry.FlagEstimated, a.report(s)
		a.deps.Accounts.SettleLater(charge)
	}
	if s.unpriced() {
		a.deps.Metrics.Unpriced(s.Label)
	}
	if s.terms.Contradicts {
		a.contradictions.Note(s.ID, s.Team, s.Model)
	}
}

// report returns the function that reports a request's cost once it is charged. That may be much later, so the function keeps
// nothing else of the request, whose body may be large.
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
		a.deps.Metrics.Used(team, label, &cost)
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
func (a charges) chargeTask(ctx context.Context, charge *limit.Charge) {
	team, taken := charge.Held.Team, charge.Taken
	file := a.live.teams.Load()
	charge.Team = file.Team(team)
	for _, h := range charge.Held.Others {
		if h.Team == teams.HouseID {
			h.Document = file.House.Quotas()
		}
	}
	charge.Taken = func(first bool) {
		a.refusals.forget(team) // as in report
		taken(first)
	}
	_, _ = a.deps.Accounts.Settle(ctx, charge) // Accounts keeps it and retries
	a.refusals.forget(team)
}

// fullTeams are the teams at their limit of open tasks. They wait for a task to end, so the finisher queries theirs first.
func (a charges) fullTeams() map[string]bool {
	full := map[string]bool{}
	for _, team := range a.live.teams.Load().List {
		if team.OpenTasks > 0 && a.deps.Accounts.OpenTasks(team.ID) >= int64(team.OpenTasks) {
			full[team.ID] = true
		}
	}
	return full
}
