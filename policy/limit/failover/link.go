package failover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
)

// link holds this process's knowledge of Redis: whether it is away, its clock, its memory, and the replicas that are alive.
type link struct {
	*Config
	reached      func()                    // called when the first call came through
	away         atomic.Pointer[time.Time] // since when no call has come through; nil: the last one did
	awayReported atomic.Bool               // Changed was called with true last
	ever         atomic.Bool               // some call came through
	ahead        atomic.Int64              // nanoseconds that Redis's clock is ahead of this process's

	beating      *semaphore.Weighted // one beat at a time
	beats        atomic.Int64        // the beats that came through
	beatFailures atomic.Int64        // the beats that did not
	memory       atomic.Int64        // numbers the memories of Redis that this process has seen; 0: none
	alive        atomic.Int64        // replicas that were alive at the last beat
	most         atomic.Int64        // the largest recent count: after a loss of memory that many may have something to restore

	fleet       *limit.Fleet
	mu          sync.Mutex
	last        redisstore.Beat
	at          time.Time     // when it arrived, by this process's clock
	runs        []string      // names of Redis's processes, the latest
	lost        time.Time     // when Redis's memory was last found to be lost
	charges     map[int64]int // charges under way, by the number of the memory that they are for
	oddReported bool          // Miscounted was called
	odd         time.Time     // since when more replicas are alive than SLUICE_REPLICAS says; zero: no more are
}

// partFor is how long the part of what may be in flight that a beat grants is valid. Without another beat the process
// then uses its part by SLUICE_REPLICAS. A process that starts without Redis has no part for that long.
const partFor = 5 * time.Second

// divisor is the number of replicas by which rates are divided without Redis: as many as may run, or more if more were
// alive.
func (l *link) divisor() int { return max(l.Replicas, int(l.alive.Load())) }

// Fleet is this process's part of what all replicas may have in flight.
func (l *link) Fleet() *limit.Fleet { return l.fleet }

// Join waits until this process has a part of what may be in flight: until the other replicas have given it up or,
// without Redis, their grants have ended; for 2 partFor at most.
func (l *link) Join(ctx context.Context) {
	for begun := l.Now(); !l.fleet.Granted() && l.Now().Sub(begun) < 2*partFor && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if l.Replicas == 1 && l.away.Load() != nil { // there are no others
			l.fleet.Grant(limit.Whole, limit.Beyond{}, l.Now().Add(partFor))
		}
	}
}

// reportAfter is how long Redis is away before Changed is called: one slow call is no outage.
const reportAfter = time.Second

// observe records whether a call came through.
func (l *link) observe(err error) {
	switch {
	case err == nil:
		if since := l.away.Swap(nil); since != nil && l.awayReported.CompareAndSwap(true, false) && l.Changed != nil {
			l.Changed(false, l.Now().Sub(*since))
		}
		if l.ever.CompareAndSwap(false, true) {
			l.reached()
		}
	case !errors.Is(err, limit.ErrBusy) && !errors.Is(err, limit.ErrMoney) && !redisstore.OfAccounts(err):
		now := l.Now()
		l.away.CompareAndSwap(nil, &now)
		if since := l.away.Load(); since != nil && now.Sub(*since) >= reportAfter && l.awayReported.CompareAndSwap(false, true) &&
			l.Changed != nil {
			l.Changed(true, 0)
		}
	}
}

// within makes one call with the timeout most.
func within(ctx context.Context, most time.Duration, do func(context.Context) error) error {
	call, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return do(call)
}

// timed is a context that ends at a moment, regardless of its parent. It starts a timer only when something waits for its end:
// most admissions of a busy process go in another one's round trip, which only asks for their deadline.
type timed struct {
	context.Context // for its values
	until           time.Time

	mu     sync.Mutex
	waited context.Context // with a timer; nil: nothing has waited yet
	cancel context.CancelFunc
}

// timedFrom returns a context that ends after d, and must be ended.
func timedFrom(parent context.Context, d time.Duration) *timed {
	return &timed{Context: context.WithoutCancel(parent), until: time.Now().Add(d)}
}

// Deadline is the moment at which it ends.
func (t *timed) Deadline() (time.Time, bool) { return t.until, true }

// Done is closed at the end.
func (t *timed) Done() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waited == nil {
		t.waited, t.cancel = context.WithDeadline(t.Context, t.until)
	}
	return t.waited.Done()
}

// Err is why it has ended; nil: it has not.
func (t *timed) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.waited != nil:
		return t.waited.Err()
	case !time.Now().Before(t.until):
		return context.DeadlineExceeded
	}
	return nil
}

// end ends it, and its timer.
func (t *timed) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		t.cancel()
	}
}

// call makes a call that no request waits for.
func (l *link) call(ctx context.Context, do func(context.Context) error) error {
	err := within(ctx, l.patience(), do)
	if err == nil || ctx.Err() == nil { // else the caller's own deadline passed, which is no sign of an outage
		l.observe(err)
	}
	return err
}

// patience is the timeout of a call that no request waits for.
func (l *link) patience() time.Duration { return max(l.Timeout, time.Second) }

// dated is the calendar of a moment by Redis's clock, as it was last known.
func (l *link) dated(now time.Time) limit.Calendar {
	return limit.CalendarOf(l.ofRedis(now))
}

// ofRedis is a moment by Redis's clock.
func (l *link) ofRedis(now time.Time) time.Time { return now.Add(time.Duration(l.ahead.Load())) }

// patientTurns is how many timeouts of a call a request waits for its turn at most, while another makes calls that serve both.
const patientTurns = 3

// errOther is the error of a request that waited for another's calls when those failed.
var errOther = errors.New("another request's calls failed")

// beat reports to Redis that this process is alive, and finds out whether Redis has lost its memory or gone back to an
// older one. A caller that waits for another's beat fails with it; otherwise each in turn would wait for a Redis that
// hangs.
func (l *link) beat(ctx context.Context) error {
	before, failures := l.beats.Load(), l.beatFailures.Load()
	if err := within(ctx, patientTurns*l.Timeout, func(ctx context.Context) error { return l.beating.Acquire(ctx, 1) }); err != nil {
		return fmt.Errorf("%w: %w", redisstore.ErrNotDone, err)
	}
	defer l.beating.Release(1)
	switch {
	case l.beats.Load() != before: // another call has done it
		return nil
	case l.beatFailures.Load() != failures:
		return fmt.Errorf("%w: %w", redisstore.ErrNotDone, errOther)
	}
	l.mu.Lock()
	last := l.last.At
	l.mu.Unlock()
	var b redisstore.Beat
	begun := l.Now()
	err := within(ctx, l.Timeout, func(ctx context.Context) (err error) {
		b, err = l.Store.Beat(ctx, last, l.fleet.Flight())
		return err
	})
	l.observe(err)
	if err != nil {
		l.beatFailures.Add(1)
		return err
	}
	l.beats.Add(1)
	l.fleet.Grant(b.Part, b.Others, begun.Add(partFor))
	l.record(b, l.Now())
	return nil
}

// record records the answer to a beat.
func (l *link) record(b redisstore.Beat, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.last.Memory == ""
	restarted := l.restarted(b.Run) && !l.Store.Cluster
	switch {
	case first:
		l.memory.Add(1)
	case b.Memory != l.last.Memory || b.Back || restarted:
		l.lost = now
		l.memory.Add(1)
	}
	if b.Alive >= l.most.Load() || now.Sub(l.lost) > redisstore.AliveFor {
		l.most.Store(max(b.Alive, l.alive.Load())) // one replica may be late with its beat
	}
	l.alive.Store(b.Alive)
	l.last, l.at = b, now
	l.ahead.Store(int64(b.At.Sub(now)))
	if b.Alive <= int64(l.Replicas) {
		l.odd = time.Time{}
	} else if l.odd.IsZero() {
		l.odd = now
	}
}

// Connected takes the name of Redis's process (run_id) at the other end of a new connection that a call needs; empty:
// Redis does not report it. It returns an error if the connection must not be used: Redis was restarted and may have
// lost its last writes, and a charge under way would change accounts before the replicas have restored what they know.
func (l *link) Connected(ctx context.Context, run string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Store.Cluster {
		return nil
	}
	if l.restarted(run) {
		l.lost = l.Now()
		l.memory.Add(1)
	} else if !l.tooEarly(ctx) {
		return nil
	}
	return fmt.Errorf("%w: it was restarted", limit.ErrAway)
}

// chargedMemory is the key of a charge's context for the number of the memory that the charge is for.
type chargedMemory struct{}

// charge returns the context of a call that charges something in a memory of Redis. The caller calls done when the
// call has ended.
func (l *link) charge(ctx context.Context, memory int64) (_ context.Context, done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.charges == nil {
		l.charges = map[int64]int{}
	}
	l.charges[memory]++
	return context.WithValue(ctx, chargedMemory{}, memory), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.charges[memory]--; l.charges[memory] == 0 {
			delete(l.charges, memory)
		}
	}
}

// tooEarly reports whether a call's connection could serve a charge for a memory before the last one: the call is such
// a charge, or one is under way that might find the connection free. The lock is held.
func (l *link) tooEarly(ctx context.Context) bool {
	last := l.memory.Load()
	if memory, ok := ctx.Value(chargedMemory{}).(int64); ok {
		return memory < last
	}
	for memory := range l.charges {
		if memory < last {
			return true
		}
	}
	return false
}

// restarted records the name of Redis's process, and reports whether it is a new one, which may have lost the last writes. Behind some
// proxies several processes answer in turn. The lock is held.
func (l *link) restarted(run string) bool {
	if run == "" || slices.Contains(l.runs, run) {
		return false
	}
	const most = 64
	l.runs = append(l.runs[max(0, len(l.runs)-most+1):], run)
	return len(l.runs) > 1
}

// gap is the last outage of Redis that all replicas saw, counted from the last renewals before it. It is zero if that is unknown, or
// if this process's own last beat is older than [redisstore.BeatGap].
func (l *link) gap() (from, to int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Now().Sub(l.at) > redisstore.BeatGap {
		return 0, 0
	}
	return max(l.last.Gap[0]-(renewLeast+renewEvery).Microseconds(), 0), l.last.Gap[1]
}

// lostRecently reports whether Redis's memory was lost a moment ago.
func (l *link) lostRecently() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.lost.IsZero() && l.Now().Sub(l.lost) < 2*redisstore.RestoringTime
}

// reportMiscounted calls Miscounted, once.
func (l *link) reportMiscounted() {
	err := l.miscounted()
	report := err != nil && !l.oddReported && l.Miscounted != nil
	if l.oddReported = err != nil; report {
		l.Miscounted(err)
	}
}

// miscounted is an error if more replicas than SLUICE_REPLICAS says have been alive for a while.
func (l *link) miscounted() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.odd.IsZero() || l.Now().Sub(l.odd) < redisstore.AliveFor {
		return nil
	}
	return fmt.Errorf("%d replicas are alive, and SLUICE_REPLICAS is %d; set it to the most that may run, because it divides rates "+
		"without Redis", l.alive.Load(), l.Replicas)
}

// Memory numbers the memories of Redis that this process has seen: another number means that Redis lost its memory, or went back to an
// older copy.
func (l *link) Memory() int64 { return l.memory.Load() }

// Alive returns how many replicas were alive in the last 30 seconds; 0: unknown.
func (l *link) Alive() int64 { return l.alive.Load() }
