// Package turn lets requests wait where time alone helps: for a rate of their team, of their key or of the service's account, for a place
// among concurrent requests, for an account that cools.
//
// It decides which request may try next, and when. Whether it fits is decided by its caller. It knows the limits' names (limits.go), and no
// HTTP.
//
// It promises that the requests of a team that wait for the same thing go in the order in which they came; that teams take turns by their
// shares, weighted by what their requests cost; that an idle team's share goes to the others immediately, and a newcomer waits for at most
// one request of each other team; and that no request overtakes one that waits for what it needs. The order is this process's own.
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
	Scope limit.ScopeKind // whose it is: a team's, a key's or the account's
	Name  string          // of the team, the key, or the account's scope
	Unit  teams.Unit      // what of it is scarce; empty: what the account allows of a model
}

// Need is what a request takes of a resource.
type Need struct {
	Resource

	Cost float64 // in the resource's unit, above 0
}

// Request is a request that asks for its turn.
type Request struct {
	Team  string
	Share float64       // of its team where teams take turns, above 0
	Wait  time.Duration // at most; 0: it does not wait
	Depth int           // how many requests of the team may wait
	Needs []Need        // the narrowest first: what several teams share comes last
	// Placed says that it has its places among the requests in flight. While it has them it must not wait for them behind others, who
	// would wait for it. Try may change it.
	Placed bool
}

// Refusal says why a request does not fit now, but will.
type Refusal struct {
	Resource

	Wait time.Duration // until it fits, above 0
	Rate float64       // how much of the resource comes back in a second; 0: unknown
}

// Try tries whether a request fits now. With a Refusal it did not, and time alone helps. Without one it is over: the request has passed, or
// it never will.
type Try func() (passed bool, refused *Refusal)

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
	out, err := q.enter(w, nil)
	if err == nil && w.line == nil {
		_, refused := try()
		if refused == nil {
			return nil, Outcome{}, nil
		}
		out, err = q.enter(w, refused)
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
	for {
		if last, err := w.sleep(ctx, late.C); w.turn(try, last, err) {
			return w.out, w.err
		}
	}
}

// sleep returns when a request may try, for the last time if its wait is over. An error ends the wait.
func (w *Waiter) sleep(ctx context.Context, late <-chan time.Time) (last bool, err error) {
	select {
	case <-w.wake:
		return false, nil
	case <-late:
		return true, nil
	case <-w.queue.stopped:
		return false, ErrStopped
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// turn tries, if it is the request's turn, and reports whether its wait is over. A panic of try ends the wait, too.
func (w *Waiter) turn(try Try, last bool, err error) (over bool) {
	passed := false
	over, w.err = true, err
	defer func() {
		if over {
			w.queue.leave(w, passed)
			w.out.Waited = time.Since(w.begun) - w.tried
		}
	}()
	switch {
	case err != nil:
		return over
	case w.queue.mayTry(w, last):
	case last:
		w.out, w.err = w.queue.standing(w), ErrLate
		return over
	default:
		return false
	}
	before := time.Now()
	var refused *Refusal
	passed, refused = try()
	w.tried += time.Since(before)
	switch {
	case refused == nil:
		return over
	case last || time.Since(w.begun)+refused.Wait > w.Wait:
		w.out, w.err = Outcome{Resource: refused.Resource, Wait: refused.Wait}, ErrLate
		return over
	}
	w.queue.again(w, refused)
	return false
}
