package gateway

import (
	"errors"
	"net/http"

	"sluice/gateway/turn"
	"sluice/gateway/wire"
	"sluice/policy/limit"
)

// inTurn holds what a request may cost. If time alone stands in the way, and the request may wait, it waits for its turn and tries again.
// While others wait for what it needs, it does not try before them. It returns nil without a hold if the client left.
func (a *admission) inTurn(w *reply, r *http.Request, s *requestState) error {
	if s.patience == 0 && a.queue.Idle() {
		if s.stream {
			return a.holdApart(w, r, s)
		}
		return a.hold(w, r, s)
	}
	return a.pass(w, r, s)
}

// pass is inTurn for a request that waits, or comes while others do. What needs much stack runs on another: this one's stays as it is for as
// long as the request waits.
func (a *admission) pass(w *reply, r *http.Request, s *requestState) error {
	p := &passage{admission: a, w: w, r: r, s: s}
	wire.Apart(p.begin)
	if p.waiter != nil {
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
	p.request = turn.RequestOf(p.holdOf(p.s), p.s.limits, p.s.patience)
	p.request.Placed = !p.s.slotless
	p.waiter, p.out, p.failed = p.queue.Begin(p.request, p.tryNow)
}

func (p *passage) tryNow() (passed bool, refused *turn.Refusal) {
	p.err = p.try(p.w, p.r, p.s)
	p.request.Placed = !p.s.slotless
	return p.err == nil, scarceOf(p.err)
}

func (p *passage) tryApart() (passed bool, refused *turn.Refusal) {
	wire.Apart(func() { passed, refused = p.tryNow() })
	return passed, refused
}

func (p *passage) end() error {
	p.s.Queued = p.out.Waited
	p.s.waited += p.out.Waited
	switch {
	case p.failed == nil, errors.Is(p.failed, turn.ErrLate) && p.out.Ahead == 0:
		return p.err
	case errors.Is(p.failed, turn.ErrStopped):
		return refuseStopped()
	case p.r.Context().Err() != nil:
		return nil
	}
	return refuse(refusedFor(p.out.Resource)).say("%s", p.out.Explain(p.failed, p.request)).retry(p.out.Wait).of(p.out.Scope)
}

// try takes the request's slot, if it has none, and holds what it may cost. A request that does not fit leaves its slot to others while it
// waits.
func (a *admission) try(w *reply, r *http.Request, s *requestState) error {
	if s.slotless {
		if full, ok := a.throttle.takeSlot(w, s); !ok {
			return a.throttle.refuseSlot(s, full)
		}
		s.slotless = false
	}
	err := a.hold(w, r, s)
	if s.patience > 0 && scarceOf(err) != nil {
		s.slotless = true
		a.throttle.leaveSlot(s)
	}
	return err
}

// scarceOf is what a refused request may wait for; nil: time alone does not help.
func scarceOf(err error) *turn.Refusal {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused.scarce
	}
	return nil
}

// refusedFor is the row of a refusal because others wait for a resource.
func refusedFor(r turn.Resource) *reason {
	switch {
	case r.IsSlots():
		return refuseConcurrent
	case r.Scope == limit.ScopeAccount:
		return refuseAccount
	}
	return refuseRate
}
