package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"sluice/cache"
	"sluice/gateway/accounts"
	"sluice/gateway/billing"
	"sluice/gateway/placement"
	"sluice/gateway/refusal"
	"sluice/gateway/refusals"
	"sluice/gateway/tasks"
	"sluice/gateway/turn"
	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/policy/account"
	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/telemetry"
)

const (
	// unknownLease is how long a request with an unknown outcome keeps its hold before it is charged as estimated.
	unknownLease = time.Hour
	noPrice      = "%s has a spend quota, and the teams file has no price for the model %s."
)

// charges settles the holds of requests and tasks.
type charges struct {
	deps     *Deps
	live     *live
	refusals *refusals.Recent

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
		defer s.attempt.Drop()
		if err := a.inTurn(w, r, s); err != nil || s.held == nil { // without an error the client has left
			return err
		}
		defer a.settle(w, r, s)
		return next(w, r, s)
	}
}

// holdApart runs hold on another goroutine: the Redis client needs much stack, which a stream would keep.
func (a *admission) holdApart(w *reply, r *http.Request, s *requestState) (err error) {
	wire.Apart(func() { err = a.hold(w, r, s, nil) })
	return err
}

// hold finds an account at the service for which no other request waits, and holds what the request may cost there and for its team.
func (a *admission) hold(w *reply, r *http.Request, s *requestState, awaited turn.Awaited) error {
	search, id := placement.New(s.accounts, s.want(), awaited), holdID(s)
	defer search.End()
	for on := search.Next(); on != nil; on = search.Next() {
		hold := a.holdOn(on, s, id)
		verdict, err := a.deps.Accounts.Admit(r.Context(), hold)
		search.Record(hold, &verdict, err)
	}
	verdict, hold, err := search.Verdict()
	switch {
	case err != nil:
		return refusal.New(refusal.State).Say("%s", limit.Unread(s.Team, err)).Because(err).Retry(time.Second)
	case verdict == nil:
		return a.refuseChoice(s, search.Choice()).Waits(search.Refused()...)
	case verdict.Held != nil:
		s.use(search.Attempt())
		a.held(w, s, verdict)
		return nil
	}
	setLimitHeaders(w, s, verdict)
	asked := s.asked()
	a.refusals.Remember(&asked, verdict, a.deps.Now())
	return refusalBy(verdict, hold).Waits(search.Refused()...)
}

// holdOn is what the request holds for its team and on the account of an attempt.
func (a *admission) holdOn(on *accounts.Attempt, s *requestState, id string) *limit.Hold {
	return &limit.Hold{
		ID: id, Team: s.team, Account: on.Shown(), Outside: a.outsides.For(s.teams, on.Spec(), s.Model), Model: s.Model, Endpoint: s.route.endpoint,
		Tag: s.tag, Key: s.holder, Amounts: s.size, Task: s.creates, Lease: a.lease,
	}
}

// holdID is the id of the request's next hold. Each try has its own id, because the id of a hold that was given back counts as settled.
func holdID(s *requestState) string {
	s.tries++
	if s.tries == 1 {
		return s.ID
	}
	return s.ID + "@" + strconv.Itoa(s.tries) // see [limit.RequestOf]
}

// move moves the request's hold to the account of an attempt, unless other requests wait for that account. wait is how long until the
// account may have room; 0: the hold was moved.
func (a *admission) move(s *requestState, to *accounts.Attempt) (wait time.Duration) {
	hold := a.holdOn(to, s, s.held.ID)
	if !a.queue.Idle() {
		r := turn.RequestOf(hold, s.limits, 0)
		r.Serve(to.ID, hold)
		if wait, others := a.queue.Ahead(r)[to.ID]; others {
			return wait
		}
	}
	verdict, err := a.deps.Accounts.Move(context.WithoutCancel(s.client), s.held, hold)
	switch {
	case err != nil:
		return time.Second // whether there is room is unknown
	case verdict.Held == nil:
		return max(verdict.Wait, time.Millisecond)
	}
	s.held = verdict.Held
	return 0
}

// held notes the hold that was placed.
func (a *admission) held(w *reply, s *requestState, verdict *limit.Verdict) {
	setLimitHeaders(w, s, verdict)
	if verdict.Reason != limit.ReasonNone {
		w.Header().Add("Sluice-Shadow", "admit/"+string(verdict.Reason))
	}
	if n := s.size[limit.Images]; n > 0 {
		w.Header().Set("Sluice-Held", fmt.Sprintf("images=%d", n))
	}
	s.held, s.Held = verdict.Held, tasks.Cost(s.size, s.team.Money, "")
	s.terms.Look(s.teams.Prices, s.Model, s.held.Day) // the day may have begun while the request arrived
}

// setLimitHeaders sets the headers that report the team's limits.
func setLimitHeaders(w *reply, s *requestState, verdict *limit.Verdict) {
	if policy, left := verdict.Fields(); policy != "" {
		w.Header()["Ratelimit-Policy"], w.Header()["Ratelimit"] = s.values.one(policy), s.values.one(left)
	}
}

// refusalBy returns the refusal of a hold by a verdict.
func refusalBy(v *limit.Verdict, h *limit.Hold) *refusal.Refusal {
	return refusal.New(refusedBy[v.Reason]).Say("%s", v.Explain(h)).Retry(v.Wait).KeepHeaders().Of(v.Fault.Scope).By(refusals.LimitOf(v, h.Team.Money))
}

// refuseChoice returns the refusal if no account can be chosen.
func (a *admission) refuseChoice(s *requestState, choice *account.Choice) *refusal.Refusal {
	switch choice.Refusal {
	case account.Unserved:
		return refusal.New(refusal.Model).Say("No account at the service takes new work with model %s from team %s.", policy.Brief(s.Model), s.Team)
	case account.NoPrice:
		return refusal.New(refusal.Model).Say(noPrice, "Each account that serves it", policy.Brief(s.Model)).At("model").Of(limit.ScopeAccount)
	case account.AllOut:
		return refusal.New(refusal.Out).Say("The service refuses the gateway's accounts; its operators have been alerted.").Retry(choice.Wait)
	}
	return refusal.New(refusal.Account).Say("The service's accounts are asked for model %s again in %s: the service told them to wait.",
		policy.Brief(s.Model), limit.Shown(choice.Wait)).Retry(choice.Wait).Of(limit.ScopeAccount)
}

// refusedBy maps each reason of a verdict to its row.
var refusedBy = map[limit.Reason]*refusal.Reason{
	limit.ReasonNever: refusal.Never, limit.ReasonRate: refusal.Rate, limit.ReasonTasks: refusal.Tasks, limit.ReasonAccount: refusal.Account, limit.ReasonQuota: refusal.Quota,
	limit.ReasonHouse: refusal.House,
}

// settle charges what the request used, as far as that is known when its answer has ended. The client may have left.
func (a *admission) settle(w *reply, r *http.Request, s *requestState) {
	ctx := r.Context()
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
		charge.Team, charge.Estimated = a.live.teams().Team(s.Team), flag == telemetry.FlagEstimated
		a.report(s, charge)
		if !s.claimed { // else the task's end is announced
			charge.Event = tasks.RequestEvent(a.deps.To, &s.Record, func() { measure(w, r, a.deps.Now()) })
		}
		a.deps.Accounts.SettleLater(charge)
	}
	if s.unpriced() {
		a.deps.Metrics.Unpriced(s.Label)
	}
	if s.terms.Contradicts {
		a.contradictions.Note(s.ID, s.Team, s.Model)
	}
}

// report makes the charge report the request's cost once it is charged. That may be much later, so the charge keeps nothing else of
// the request, whose body may be large.
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
		Request: s.ID, Creation: s.creation, Key: s.Key, ID: s.Task, Model: s.Model, Team: s.Team, Outcome: tasks.Outcome(cache.Status(s.reading.TaskStatus)),
		Images: s.Cost.Amounts[limit.Images], Usage: s.Usage, Cost: s.Cost, Held: s.Held, Estimated: s.Cost.Flag == telemetry.FlagEstimated, SettledBy: tasks.ByStream, Account: s.Account,
		Submitted: s.Time, Started: s.Time, Ended: ended,
	}
}

// quotasOf returns the quotas outside teams that have this id: the house's, or those of an account at the service; nil: they no longer
// exist.
func (a charges) quotasOf(file *teams.File, id string) *teams.Team {
	if of, ok := teams.AccountOfQuotas(id); ok {
		return a.live.roster.Quotas(of)
	}
	return file.House.Quotas()
}

// chargeTask settles the hold of a task's creation.
func (a charges) chargeTask(ctx context.Context, charge *limit.Charge) {
	file, team, taken := a.live.teams(), charge.Held.Team, charge.Taken
	charge.Team = file.Team(team)
	for _, h := range charge.Held.Others {
		h.Document = a.quotasOf(file, h.Team)
	}
	charge.Taken = func(first bool) {
		a.refusals.Forget(team) // as in report
		taken(first)
	}
	_, _ = a.deps.Accounts.Settle(ctx, charge) // Accounts keeps it and retries
	a.refusals.Forget(team)
}

// fullTeams are the teams at their limit of open tasks. They wait for a task to end, so the finisher queries theirs first.
func (a charges) fullTeams() map[string]bool {
	full := map[string]bool{}
	for _, team := range a.live.teams().List {
		if team.OpenTasks > 0 && a.deps.Accounts.OpenTasks(team.ID) >= int64(team.OpenTasks) {
			full[team.ID] = true
		}
	}
	return full
}
