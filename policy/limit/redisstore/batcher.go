package redisstore

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// moreTime is how much later than the sender's a call's deadline may be: the round ends at the sender's deadline.
const moreTime = 5 * time.Millisecond

// batcher sends concurrent admissions in one round trip, those of one team in one call. It waits only for goroutines that are
// ready to run: a single caller sends immediately, and no call waits for the reply of an earlier round trip. With the library's
// own pipelining a call would take two round trips over a slow network.
type batcher struct {
	*wire
	callers atomic.Int32
	mu      sync.Mutex
	next    *round // nil: the next caller begins one
}

// round is the admissions of one round trip.
type round struct {
	list  admissionGroup
	until time.Time // the sender's deadline
	done  chan struct{}
}

// process sends the admissions of one request, and returns when each has its reply or its error. Deadlines hold. If ctx is cancelled earlier, other calls of
// the round may fail, too.
func (b *batcher) process(ctx context.Context, of admissionGroup) {
	defer b.callers.Add(-1)
	until, bounded := ctx.Deadline()
	if b.callers.Add(1) == 1 || !bounded {
		b.sendAdmissions(ctx, of)
		return
	}
	switch r, sends := b.enqueue(of, until); {
	case r == nil:
		b.sendAdmissions(ctx, of)
	case sends:
		b.sendRound(ctx, r)
	default:
		<-r.done
	}
}

// enqueue adds admissions to the next round, and reports whether its caller sends that. It returns nil if the sender has more time than
// this one, or much less.
func (b *batcher) enqueue(of admissionGroup, until time.Time) (r *round, sends bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r = b.next; r == nil {
		b.next = &round{list: append(make(admissionGroup, 0, roundMost), of...), until: until, done: make(chan struct{})}
		return b.next, true
	}
	if until.Before(r.until) || until.Sub(r.until) > moreTime {
		return nil, false
	}
	if r.list = append(r.list, of...); len(r.list) >= roundMost {
		b.next = nil
	}
	return r, false
}

// sendRound sends a round after the goroutines that are ready to run have run.
func (b *batcher) sendRound(ctx context.Context, r *round) {
	defer close(r.done)
	runtime.Gosched()
	b.mu.Lock()
	if b.next == r {
		b.next = nil
	}
	b.mu.Unlock()
	b.sendAdmissions(ctx, r.list)
}
