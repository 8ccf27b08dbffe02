package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"sluice/gateway/accounts"
	"sluice/gateway/placement"
	"sluice/gateway/refusal"
	"sluice/gateway/repeats"
	"sluice/gateway/tasks"
	"sluice/gateway/turn"
	"sluice/gateway/wire"
	"sluice/policy"
	"sluice/policy/account"
	"sluice/policy/limit"
)

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
		verdict, err := a.deps.Balances.Admit(r.Context(), hold)
		search.Note(hold, &verdict, err)
	}
	verdict, hold, err := search.Verdict()
	switch {
	case err != nil:
		return refusal.New(refusal.State).Say("%s", limit.Unread(s.Team, err)).Because(err).Retry(time.Second).Waits(search.Refused()...)
	case verdict == nil:
		return a.refuseChoice(s, search.Choice()).Waits(search.Refused()...)
	case verdict.Held != nil:
		s.use(search.Attempt())
		a.noteHeld(w, s, verdict)
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
		ID: id, Team: s.team, Account: on.Shown(), Outside: a.outsides.For(s.teams, on.Spec(), s.Model), Model: s.Model,
		Endpoint: s.route.endpoint, Tag: s.tag, Key: s.ledgerKey, Amounts: s.size, Text: s.text, Task: s.creates, Lease: a.lease,
	}
}

// holdID is the id of the request's next hold. Each try has its own id, because the id of a hold that was given back counts as settled.
func holdID(s *requestState) string {
	s.tries++
	if s.tries == 1 {
		return s.ID
	}
	return s.ID + "@." + strconv.Itoa(s.tries) // no account's name begins with a dot: see [limit.RequestOf]
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
	verdict, err := a.deps.Balances.Move(context.WithoutCancel(s.client), s.held, hold)
	switch {
	case err != nil:
		return time.Second // whether there is room is unknown
	case verdict.Held == nil:
		return max(verdict.Wait, time.Millisecond)
	}
	noteSize(s, verdict.Held)
	return 0
}

// noteSize notes the hold that was placed, and its size. It may be less than what was asked for: its estimates are cut to the quotas of the
// house and the account, and without Redis to a share of the rates.
func noteSize(s *requestState, h *limit.Held) {
	s.held, s.size, s.text = h, h.Amounts, s.text+h.Amounts[limit.Spend]-s.size[limit.Spend]
}

// noteHeld notes the hold of an admission, and tells the client of it.
func (a *admission) noteHeld(w *reply, s *requestState, verdict *limit.Verdict) {
	setLimitHeaders(w, s, verdict)
	if verdict.Reason != limit.ReasonNone {
		w.Header().Add("Sluice-Shadow", "admit/"+string(verdict.Reason))
	}
	if n := s.size[limit.Images]; n > 0 {
		w.Header().Set("Sluice-Held", fmt.Sprintf("images=%d", n))
	}
	noteSize(s, verdict.Held)
	s.Held = tasks.Cost(s.size, s.team.Money, "")
	s.pricing.Look(s.teams.Prices, s.Model, s.held.Day) // the day may have begun while the request arrived
}

// setLimitHeaders sets the headers that report the team's limits.
func setLimitHeaders(w *reply, s *requestState, verdict *limit.Verdict) {
	if policy, left := verdict.Fields(); policy != "" {
		w.Header()["Ratelimit-Policy"], w.Header()["Ratelimit"] = s.values.One(policy), s.values.One(left)
	}
}

// refusalBy returns the refusal of a hold by a verdict.
func refusalBy(v *limit.Verdict, h *limit.Hold) *refusal.Refusal {
	return refusal.New(refusedBy[v.Reason]).Say("%s", v.Explain(h)).Retry(v.Wait).KeepHeaders().Of(v.Fault.Scope).
		By(repeats.LimitOf(v, h.Team.Money))
}

// refuseChoice returns the refusal if no account can be chosen.
func (a *admission) refuseChoice(s *requestState, choice *account.Choice) *refusal.Refusal {
	switch choice.Refusal {
	case account.Unserved:
		return refusal.New(refusal.Model).Say("No account at the service takes new work with model %s from team %s.", policy.Brief(s.Model),
			s.Team)
	case account.NoPrice:
		return refusal.New(refusal.Model).Say(noPrice, "Each account that serves it", s.pricing.Price.Missing(&s.size), policy.Brief(s.Model)).
			At("model").Of(limit.ScopeAccount)
	case account.AllOut:
		return refusal.New(refusal.Out).Say("The service refuses the gateway's accounts; its operators have been alerted.").Retry(choice.Wait)
	}
	return refusal.New(refusal.Account).Say("The service's accounts are asked for model %s again in %s: the service told them to wait.",
		policy.Brief(s.Model), limit.WaitText(choice.Wait)).Retry(choice.Wait).Of(limit.ScopeAccount)
}

// refusedBy maps each reason of a verdict to its row.
var refusedBy = map[limit.Reason]*refusal.Row{
	limit.ReasonNever: refusal.Never, limit.ReasonRate: refusal.Rate, limit.ReasonTasks: refusal.Tasks, limit.ReasonAccount: refusal.Account,
	limit.ReasonQuota: refusal.Quota,
	limit.ReasonHouse: refusal.House,
}
