// Package turn lets requests wait where time alone helps: for a rate of their team, of their key or of the service's account, for a place
// among concurrent requests, for an account that cools.
//
// It decides which request may try next, and when. Whether it fits is decided by its caller. It knows no HTTP and no limits.
//
// It promises that the requests of a team that wait for the same thing go in the order in which they came; that teams take turns by their
// shares, weighted by what their requests cost; that an idle team's share goes to the others immediately, and a newcomer waits for at most
// one request of each other team; and that no request overtakes one that waits for what it needs. The order is this process's own.
package turn

import (
	"context"
	"errors"
	"time"
)

// Resource is what requests take turns for. Equal ones are the same.
type Resource struct {
	Scope string // whose it is, such as team
	Name  string // of that
	Unit  string // what of it is scarce, such as requests
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
// one of those above, or that of ctx, whose client has left.
func (q *Queue) Pass(ctx context.Context, r *Request, try Try) (Outcome, error) {
	w := &waiter{Request: r, wake: make(chan struct{}, 1)}
	if out, err := q.begin(w, nil); err != nil {
		return out, err
	}
	if w.line == nil {
		_, refused := try()
		if refused == nil {
			return Outcome{}, nil
		}
		if out, err := q.begin(w, refused); err != nil {
			return out, err
		}
	}
	return q.await(ctx, w, try)
}

// await waits for the turns of a request that is in a line.
func (q *Queue) await(ctx context.Context, w *waiter, try Try) (out Outcome, err error) {
	begun, tried, passed := time.Now(), time.Duration(0), false
	defer func() {
		q.leave(w, passed)
		out.Waited = time.Since(begun) - tried
	}()
	late := time.NewTimer(w.Wait)
	defer late.Stop()
	for {
		last := false
		select {
		case <-w.wake:
		case <-late.C:
			last = true
		case <-q.stopped:
			return out, ErrStopped
		case <-ctx.Done():
			return out, ctx.Err()
		}
		if !q.mayTry(w, last) {
			if last {
				return q.standing(w), ErrLate
			}
			continue
		}
		var refused *Refusal
		before := time.Now()
		passed, refused = try()
		tried += time.Since(before)
		if refused == nil {
			return out, nil
		}
		if last || time.Since(begun)+refused.Wait > w.Wait {
			return Outcome{Resource: refused.Resource, Wait: refused.Wait}, ErrLate
		}
		q.again(w, refused)
	}
}
