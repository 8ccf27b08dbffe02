package redisstore

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// aboard is the most calls that share a round trip: with more, Redis's work and this process's take turns rather than go
// on side by side.
const aboard = 8

// moreTime is how much more time than its sender a call may have and still go with it: a round ends with its sender's time.
const moreTime = 5 * time.Millisecond

// batcher sends the calls that come at the same moment in one round trip, which costs both sides fewer system calls. It
// waits for nothing but the goroutines that are ready to run: a lone caller goes at once, and nobody waits for the
// reply of an earlier round trip. The library's own pipelining does the latter: over a slow network a call would take two.
type batcher struct {
	client  redis.UniversalClient
	callers atomic.Int32
	apart   bool // no round trip is shared

	mu       sync.Mutex
	boarding *round // nil: the next caller begins one
}

// round is the calls of one round trip.
type round struct {
	calls []redis.Cmder
	until time.Time // the deadline of the caller that sends it; who has less time goes alone, and who has much more
	done  chan struct{}
}

// process makes a call, and returns when the call has its reply or its error. Deadlines are kept; a caller's ctx that is
// ended otherwise may take others with it.
func (f *batcher) process(ctx context.Context, call *redis.IntSliceCmd) {
	defer f.callers.Add(-1)
	until, bounded := ctx.Deadline()
	if f.callers.Add(1) == 1 || !bounded || f.apart {
		_ = f.client.Process(ctx, call) // the call has the error
		return
	}
	r, sends := f.enqueue(call, until)
	switch {
	case r == nil:
		_ = f.client.Process(ctx, call)
	case sends:
		f.send(ctx, r)
	default:
		<-r.done
	}
}

// enqueue puts a call into the next round, and reports whether its caller is the one that sends it. It returns nil where
// that one has more time than this, or too little for it: it may have waited for its team to be brought back.
func (f *batcher) enqueue(call *redis.IntSliceCmd, until time.Time) (r *round, sends bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r = f.boarding; r == nil {
		f.boarding = &round{calls: append(make([]redis.Cmder, 0, 8), call), until: until, done: make(chan struct{})}
		return f.boarding, true
	}
	if until.Before(r.until) || until.Sub(r.until) > moreTime {
		return nil, false
	}
	if r.calls = append(r.calls, call); len(r.calls) == aboard {
		f.boarding = nil
	}
	return r, false
}

// send sends a round once those that are ready to run have had their turn.
func (f *batcher) send(ctx context.Context, r *round) {
	defer close(r.done)
	runtime.Gosched()
	f.mu.Lock()
	if f.boarding == r {
		f.boarding = nil
	}
	f.mu.Unlock()
	if len(r.calls) == 1 {
		_ = f.client.Process(ctx, r.calls[0])
		return
	}
	pipe := f.client.Pipeline()
	_ = pipe.BatchProcess(ctx, r.calls...) // they are only queued
	if _, err := pipe.Exec(ctx); err != nil {
		for _, call := range r.calls {
			if call := call.(*redis.IntSliceCmd); call.Err() == nil && len(call.Val()) == 0 { // not sent at all
				call.SetErr(err)
			}
		}
	}
}
