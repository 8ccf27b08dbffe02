package gateway

import (
	"errors"
	"net/http"

	"sluice/gateway/refusal"
	"sluice/gateway/turn"
	"sluice/gateway/wire"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// inTurn holds what a request may cost. If only time is in the way, and the request may wait, it waits for its turn and tries again.
// While others wait for what it needs, it does not try before them. It returns nil without a hold if the client left.
func (a *admission) inTurn(w *reply, r *http.Request, s *requestState) error {
	if s.patience == 0 && a.queue.Idle() {
		if s.stream {
			return a.holdApart(w, r, s)
		}
		return a.hold(w, r, s, nil)
	}
	return a.pass(w, r, s)
}

// pass is inTurn for a request that may wait, or that arrives while others wait. Calls that need much stack run on another goroutine, so
// that this one's stack stays small during the wait.
func (a *admission) pass(w *reply, r *http.Request, s *requestState) error {
	p := &passage{admission: a, w: w, r: r, s: s}
	wire.Apart(p.begin)
	if p.waiter != nil {
		if s.slotless {
			a.throttle.freed(s) // a slot may have come back between its try and its place in the queue
		}
		p.out, p.failed = p.waiter.Await(r.Context(), p.tryApart)
	}
	return p.end()
}

// passage is a request on its way through the queue.
type passage struct {
	*admission

	w       *reply
	r       *http.Request
	s       *requestState
	request *turn.Request
	waiter  *turn.Waiter // nil: it does not wait
	out     turn.Outcome
	failed  error // of the queue
	err     error // of the last try
}

func (p *passage) begin() {
	p.ask()
	p.waiter, p.out, p.failed = p.queue.Begin(p.request, p.tryNow)
}

// ask makes the request for a turn, from the teams and accounts in force.
func (p *passage) ask() {
	s := p.s
	p.request = turn.RequestOf(&limit.Hold{Team: s.team, Key: s.ledgerKey, Amounts: s.size}, s.limits, s.patience)
	for _, spec := range s.accounts.Serving(s.want()) {
		id := teams.MainAccount
		if spec != nil {
			id = spec.ID
		}
		p.request.Serve(id, &limit.Hold{Outside: p.outsides.For(s.teams, spec, s.Model), Model: s.Model, Amounts: s.size})
	}
	p.request.Placed, p.request.Check = !s.slotless, p.check
}

// check applies changed teams and accounts files to a waiting request. It returns what the request asks for now, nil if nothing has
// changed, or the refusal that a new request with its key would get: the key may have been revoked.
func (p *passage) check() (*turn.Request, error) {
	now := p.live.now.Load()
	if now == p.s.inForce {
		return nil, nil //nolint:nilnil // nothing has changed
	}
	team, limits, err := now.allows(p.s, p.deps.Now())
	if err == nil {
		err = mayUseModel(p.s, team, limits)
	}
	if err != nil {
		return nil, err
	}
	p.s.inForce, p.s.team, p.s.limits = now, team, limits
	p.ask()
	return p.request, nil
}

func (p *passage) tryNow(awaited turn.Awaited) (a turn.Answer) {
	p.err = p.try(p.w, p.r, p.s, awaited)
	p.request.Placed = !p.s.slotless
	if p.err == nil {
		return turn.Answer{Passed: true, Way: p.s.attempt.ID}
	}
	return turn.Answer{Refused: scarceOf(p.err)}
}

func (p *passage) tryApart(awaited turn.Awaited) (a turn.Answer) {
	wire.Apart(func() { a = p.tryNow(awaited) })
	return a
}

func (p *passage) end() error {
	p.s.Queued = p.out.Waited
	p.s.waited += p.out.Waited
	switch {
	case p.failed == nil:
		return p.err
	case errors.Is(p.failed, turn.ErrLate) && p.lastApplies():
		return p.late()
	case errors.Is(p.failed, turn.ErrStopped):
		return refusal.Stopped()
	case p.r.Context().Err() != nil:
		return nil
	case !errors.Is(p.failed, turn.ErrLate) && !errors.Is(p.failed, turn.ErrFull): // its key was revoked while it waited
		return p.failed
	}
	return refusal.New(refusedFor(p.out.Resource)).Say("%s", p.out.Explain(p.failed, p.request)).Retry(p.out.Wait).KeepHeaders().
		Of(p.out.Scope)
}

// late returns the refusal of the last try, with its wait shortened to what is left.
func (p *passage) late() error {
	refused := refusal.As(p.err)
	if p.waiter != nil && p.out.Wait > 0 {
		refused.After = min(refused.After, p.out.Wait)
	}
	return refused
}

// lastApplies reports whether the client gets the last try's refusal and not the queue's: no request is ahead, or this one did not wait
// and the try's refusal ends sooner.
func (p *passage) lastApplies() bool {
	return p.err != nil && (p.out.Ahead == 0 || p.waiter == nil && refusal.As(p.err).After < p.out.Wait)
}

// try takes a slot, if the request has none, and holds what the request may cost. A request that does not fit leaves its slot to others
// while it waits.
func (a *admission) try(w *reply, r *http.Request, s *requestState, awaited turn.Awaited) error {
	if s.slotless {
		if full, ok := a.throttle.takeSlot(w, s); !ok {
			return a.throttle.refuseSlot(s, full)
		}
		s.slotless = false
	}
	err := a.hold(w, r, s, awaited)
	if answer := (turn.Answer{Refused: scarceOf(err)}); s.patience > 0 && answer.Waits(awaited) {
		s.slotless = true
		a.throttle.leaveSlot(s)
	}
	return err
}

// scarceOf returns the limits that refused a request and for which it may wait.
func scarceOf(err error) []turn.Refusal {
	if refused, ok := errors.AsType[*refusal.Refusal](err); ok {
		return refused.Scarce
	}
	return nil
}

// refusedFor is the row of a refusal for a resource for which others wait.
func refusedFor(r turn.Resource) *refusal.Row {
	switch {
	case r.IsSlots():
		return refusal.Concurrent
	case r.Scope == limit.ScopeAccount:
		return refusal.Account
	}
	return refusal.Rate
}
