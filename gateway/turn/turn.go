// Package turn lets requests wait where time alone helps: for a rate of their team, of their key or of the service's account, for a place
// among concurrent requests, for an account that cools.
//
// It decides which request may try next, and when. Whether it fits is decided by its caller. It knows the limits' names (limits.go), and no
// HTTP.
//
// It promises that the requests of a team that wait for the same thing go in the order in which they came; that teams take turns by their
// shares, weighted by what their requests cost; that an idle team's share goes to the others immediately, and a newcomer waits for at most
// one request of each other team; that no request overtakes one that waits for what it takes; and that none waits while one of its ways
// has room and nobody waits for that. The order is this process's own.
package turn

import (
	"context"
	"errors"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Resource is what requests take turns for. Equal ones are the same.
type Resource struct {
	Scope limit.ScopeKind // whose it is: a team's, a key's or an account's
	Name  string          // of the team, the key, or the account's scope
	Unit  teams.Unit      // what of it is scarce; empty: whether an account is asked for a model
}

// Need is what a request takes of a resource.
type Need struct {
	Resource

	Cost float64 // in the resource's unit, above 0
}

// Way is one by which a request may pass: an account that serves it.
type Way struct {
	ID    string // not empty
	Needs []Need // the narrowest first
}

// Request is a request that asks for its turn. It takes all of its Needs, and those of one of its Ways.
type Request struct {
	Team  string
	Share float64       // of its team where teams take turns, above 0
	Wait  time.Duration // at most; 0: it does not wait
	Depth int           // how many requests of the team may wait
	Needs []Need        // the narrowest first: what several teams share comes last
	Ways  []Way         // nil: it takes its Needs alone
	// Placed says that it has its places among the requests in flight. While it has them it must not wait for them behind others, who
	// would wait for it. Try may change it.
	Placed bool
	// Check is called while it waits, after [Queue.Changed] and before each Try. A Request takes the place of this one, which keeps when it
	// arrived and how long it waits: its team, its needs or its ways have changed. An error ends the wait, and is that of Pass. Nil: nothing
	// is checked.
	Check func() (*Request, error)
}

// Refusal says why a request does not fit now.
type Refusal struct {
	Resource

	Way    string        // by which it does not fit; empty: by none, because of one of its Needs
	Wait   time.Duration // until it fits, or is worth another try; 0: never, if it is Closed
	Rate   float64       // how much of the resource comes back in a second; 0: unknown
	Closed bool          // time alone does not help: no request waits for this, but one that waits for another way may pass by this one
}

// Awaited are the ways that a request must not take: others wait for them that come first, or the wait that was named has not passed. The
// values say for about how long.
type Awaited map[string]time.Duration

// Answer is what came of a Try. Without Passed and Refused the request never passes.
type Answer struct {
	Passed  bool
	Way     string    // that it took
	Refused []Refusal // one by one of its Needs, or one for each way that is not awaited
}

// Waits reports whether time alone helps a request: it does if one of its ways is awaited and it was refused by the others alone.
func (a *Answer) Waits(awaited Awaited) bool {
	for i := range a.Refused {
		if !a.Refused[i].Closed {
			return true
		}
	}
	return len(a.Refused) > 0 && len(awaited) > 0
}

// soonest is the refusal that ends first of those where time alone helps; nil: it helps at none.
func (a *Answer) soonest() (first *Refusal) {
	for i := range a.Refused {
		if r := &a.Refused[i]; !r.Closed && (first == nil || r.Wait < first.Wait) {
			first = r
		}
	}
	return first
}

// by is the refusal of a way; nil: there is none.
func (a *Answer) by(way string) *Refusal {
	for i := range a.Refused {
		if a.Refused[i].Way == way {
			return &a.Refused[i]
		}
	}
	return nil
}

// Try tries whether a request fits now, by a way that is not awaited.
type Try func(Awaited) Answer

// Outcome says what stands in the way of a request that was refused, and how long it waited.
type Outcome struct {
	Resource

	Wait   time.Duration // until the request fits, by those that wait before it; at least 1 ms
	Ahead  int           // requests that wait for the resource; 0: the last Try says more
	Waited time.Duration // without the time that Try took
}

var (
	// ErrLate is the error of a request that does not fit inside its wait, and of one that does not wait while others do.
	ErrLate = errors.New("the request does not fit inside its wait")
	// ErrFull is the error of a request of a team of which as many wait as may.
	ErrFull = errors.New("as many requests of the team wait as may")
	// ErrStopped is the error of every request that waits, or would have to, after [Queue.Stop].
	ErrStopped = errors.New("nothing waits any more")
)

// Pass calls try until it is over: immediately if no request waits for what this one needs, else each time that its turn comes. An error is
// one of those above, or that of ctx, whose client has left. It is Begin and then Await.
func (q *Queue) Pass(ctx context.Context, r *Request, try Try) (Outcome, error) {
	w, out, err := q.Begin(r, try)
	if w == nil {
		return out, err
	}
	return w.Await(ctx, try)
}

// Begin calls try if no request waits for what this one needs. If it has to wait and may, it is in the queue and the Waiter is not nil;
// Await MUST be called then.
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

// Await calls try each time that the turn of a request comes, until it is over. Its errors are those of [Queue.Pass]. It uses little stack
// while it waits.
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

// sleep returns when a request may try, for the last time if its wait is over. An error ends the wait.
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

// turn tries, if it is the request's turn, and reports whether its wait is over.
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
