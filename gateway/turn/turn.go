// Package turn is the queue of requests that wait where waiting helps: for a rate of their team, their key or the service's account, for a
// slot among concurrent requests, or for an account that is cooling.
//
// It decides which request may try next, and when; its caller decides whether the request fits. It knows the names of limits (limits.go),
// but no HTTP.
//
// It promises:
//   - Requests of one team that wait for the same resource pass in their order of arrival.
//   - Teams take turns by their shares, weighted by the cost of their requests. An idle team's share goes to the others immediately. A team
//     that begins to wait waits for at most one request of each other team.
//   - A request never overtakes another that waits for a resource which it takes.
//   - A request does not wait if one of its ways has room and no other request waits for that way.
//
// Each process has its own order.
package turn

import (
	"context"
	"errors"
	"time"

	"sluice/policy/limit"
	"sluice/policy/unit"
)

// Resource is what requests take turns for. Equal values are the same resource.
type Resource struct {
	Scope limit.ScopeKind // its owner: a team, a key or an account
	Name  string          // of the owner
	Unit  unit.Name       // what is scarce; empty: an account's readiness to serve a model
}

// Need is what a request takes of a resource.
type Need struct {
	Resource

	Cost float64 // in the resource's unit, above 0
}

// Way is an account by which a request may pass.
type Way struct {
	ID    string // not empty
	Needs []Need // the narrowest first
}

// Request is a request that asks for its turn. It takes all of its Needs, and those of one of its Ways.
type Request struct {
	Team  string
	Share float64       // of its team, above 0
	Wait  time.Duration // at most; 0: it does not wait
	Depth int           // how many requests of the team may wait
	Needs []Need        // the narrowest first: what several teams share comes last
	Ways  []Way         // nil: it takes only its Needs
	// Placed says that the request has its slots among the requests in flight. Then it must not wait for a slot behind others, because they
	// would wait for its slots. Try may change it.
	Placed bool
	// Check is called while the request waits: after [Queue.Changed] and before each Try. If its team, needs or ways have changed, Check
	// returns the Request that replaces this one, which keeps its time of arrival and its wait. An error ends the wait, and Pass returns it.
	// Nil: no check.
	Check func() (*Request, error)
}

// Refusal says why a request does not fit now.
type Refusal struct {
	Resource

	Way    string        // the way that has no room; empty: one of its Needs has none
	Wait   time.Duration // until it fits, or another try makes sense; 0 and Closed: it never fits
	Rate   float64       // how much of the resource comes back in a second; 0: unknown
	Closed bool          // waiting does not help: no request waits for this way only, but one that waits for another way may pass by this one
}

// Awaited has the ways that a request must not take yet, each with about how long: other requests wait for the way and come first, or the
// wait of the last refusal has not passed.
type Awaited map[string]time.Duration

// Answer is the outcome of a Try. If it neither passed nor was refused, the request never passes.
type Answer struct {
	Passed  bool
	Way     string    // that it took
	Refused []Refusal // one refusal by a Need, or one for each way that is not awaited
}

// Waits reports whether waiting helps the request. It also does if all ways that were tried are closed, but another one is awaited.
func (a *Answer) Waits(awaited Awaited) bool {
	for i := range a.Refused {
		if !a.Refused[i].Closed {
			return true
		}
	}
	return len(a.Refused) > 0 && len(awaited) > 0
}

// soonest is the refusal that ends first; nil: waiting helps against none of them.
func (a *Answer) soonest() (first *Refusal) {
	for i := range a.Refused {
		if r := &a.Refused[i]; !r.Closed && (first == nil || r.Wait < first.Wait) {
			first = r
		}
	}
	return first
}

// by is the refusal of a way; nil: it did not refuse.
func (a *Answer) by(way string) *Refusal {
	for i := range a.Refused {
		if a.Refused[i].Way == way {
			return &a.Refused[i]
		}
	}
	return nil
}

// Try tries whether a request fits now, by a way that is not in Awaited.
type Try func(Awaited) Answer

// Outcome says which resource a refused request lacks, and how long it waited.
type Outcome struct {
	Resource

	Wait   time.Duration // until the request fits, given those before it; at least 1 ms
	Ahead  int           // how many requests wait for the resource before it; 0: see the last Try
	Waited time.Duration // without the time that Try took
}

var (
	// ErrLate is the error of a request that does not fit within its wait, or that may not wait while others do.
	ErrLate = errors.New("the request does not fit within its wait")
	// ErrFull is the error of a request whose team has as many waiting requests as it may have.
	ErrFull = errors.New("the team has as many waiting requests as it may have")
	// ErrStopped is the error of every request that waits, or would wait, after [Queue.Stop].
	ErrStopped = errors.New("the queue has stopped")
)

// Pass is Begin and then Await: it calls try immediately if no request waits for what this one needs, and otherwise at each of its turns.
// It returns one of the errors above, or that of ctx if the client has left.
func (q *Queue) Pass(ctx context.Context, r *Request, try Try) (Outcome, error) {
	w, out, err := q.Begin(r, try)
	if w == nil {
		return out, err
	}
	return w.Await(ctx, try)
}

// Begin calls try if no request waits for what this one needs. If the request has to wait, and may, it is in the queue and the Waiter is
// not nil; Await MUST be called then.
func (q *Queue) Begin(r *Request, try Try) (*Waiter, Outcome, error) {
	w := &Waiter{Request: r, queue: q, wake: make(chan struct{}, 1)}
	awaited, out, err := q.enter(w, nil, nil)
	if err == nil && !w.waits() {
		a := try(awaited)
		if !a.Waits(awaited) {
			return nil, Outcome{}, nil
		}
		_, out, err = q.enter(w, &a, awaited)
	}
	if err != nil {
		return nil, out, err
	}
	return w, Outcome{}, nil
}

// Await calls try at each of the request's turns, until it passes or its wait ends. Its errors are those of [Queue.Pass]. It uses little
// stack while it waits.
func (w *Waiter) Await(ctx context.Context, try Try) (Outcome, error) {
	w.begun = time.Now()
	late := time.NewTimer(w.Wait)
	defer late.Stop()
	defer w.queue.leave(w) // also if try or Check panics
	for {
		if last, err := w.sleep(ctx, late.C); w.turn(try, last, err) {
			w.out.Waited = time.Since(w.begun) - w.tried
			return w.out, w.err
		}
	}
}

// sleep returns when the request may try; last says that its wait is over. An error ends the wait.
func (w *Waiter) sleep(ctx context.Context, late <-chan time.Time) (last bool, err error) {
	for {
		changed := *w.queue.changed.Load()
		if err = w.check(); err != nil {
			return false, err
		}
		select {
		case <-w.wake:
			return false, nil
		case <-late:
			return true, nil
		case <-w.queue.stopped:
			return false, ErrStopped
		case <-ctx.Done():
			return false, ctx.Err()
		case <-changed:
		}
	}
}

func (w *Waiter) check() error {
	if w.Check == nil {
		return nil
	}
	changed, err := w.Check()
	if err == nil && changed != nil {
		w.queue.change(w, changed)
	}
	return err
}

// turn calls try if it is the request's turn, and reports whether the wait is over.
func (w *Waiter) turn(try Try, last bool, err error) (over bool) {
	if err == nil {
		err = w.check()
	}
	if w.err = err; err != nil {
		return true
	}
	awaited, may := w.queue.mayTry(w)
	switch {
	case may:
	case last:
		w.out, w.err = w.queue.standing(w), ErrLate
		return true
	default:
		return false
	}
	before := time.Now()
	a := try(awaited)
	w.tried += time.Since(before)
	if !a.Waits(awaited) {
		w.passed, w.by = a.Passed, a.Way
		return true
	}
	if first := a.soonest(); last || len(awaited) == 0 && time.Since(w.begun)+first.Wait > w.Wait {
		if w.err = ErrLate; first != nil {
			w.out = Outcome{Resource: first.Resource, Wait: first.Wait}
		}
		return true
	}
	w.queue.again(w, &a, awaited)
	return false
}
