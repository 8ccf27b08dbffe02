package failover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"sluice/policy/limit"
)

const (
	queueLength = 4096 // settlements that wait for a goroutine
	queueBatch  = 128  // settlements in one round trip: those of 64 requests that the house also counts
	settlers    = 2    // goroutines that send settlements: one gathers while the other waits for Redis
	// settlePause is how long a goroutine lets settlements gather: those of one team cost Redis little more than one.
	settlePause = 5 * time.Millisecond
	keptMost    = 100000 // settlements kept while Redis is away; beyond it the oldest is given up, and its hold expires
)

// job is a settlement, or a longer lease.
type job struct {
	charge *limit.Charge
	extend *limit.Held
	lease  time.Duration
	tried  time.Time // when its reply was first lost; zero: never
	kept   bool      // it waited for Redis, so its hold may have expired since
}

// jobKey names a kind of job of a hold in an account. Only one of each is kept.
type jobKey struct {
	account string
	hold    string
	extend  bool
}

func (j *job) key() jobKey {
	if j.charge == nil {
		return jobKey{j.extend.Team, j.extend.ID, true}
	}
	return jobKey{j.charge.Held.Team, j.charge.Held.ID, false}
}

// queue settles in the background. What Redis did not take is kept and retried; the ids make that idempotent.
type queue struct {
	send  func(ctx context.Context, batch []job) []error // sends jobs, and returns the result of each
	whole func(err error) bool                           // whether a job's error is Redis's as a whole, so that no other fares better now
	jobs  chan job
	turn  chan struct{} // whose goroutine gathers
	fence func(work func()) bool
	ended sync.WaitGroup

	gate   sync.RWMutex // guards closed: add holds it for reading, drain for writing
	closed bool

	mu    sync.Mutex
	kept  []*job // in the order in which they failed first
	index map[jobKey]*job
	sums  map[sumOf]*limit.Charge // settled here, and never sent
	most  int                     // jobs that are kept
	lost  int64                   // charges that were given up
}

func newQueue(send func(ctx context.Context, batch []job) []error, whole func(err error) bool, fence func(work func()) bool) *queue {
	q := &queue{
		send: send, whole: whole, fence: fence, jobs: make(chan job, queueLength), turn: make(chan struct{}, 1), sums: map[sumOf]*limit.Charge{},
		index: map[jobKey]*job{}, most: keptMost,
	}
	for range settlers {
		q.ended.Go(q.work)
	}
	return q
}

// add hands a job to the goroutines. If they are too busy the caller does it.
func (q *queue) add(j job) {
	q.gate.RLock()
	defer q.gate.RUnlock()
	if !q.closed {
		select {
		case q.jobs <- j:
			return
		default:
		}
	}
	_ = q.do(context.Background(), []job{j}) // kept, if it failed
}

func (q *queue) work() {
	batch := make([]job, 0, queueBatch)
	for more := true; more; {
		q.fence(func() { more = q.next(batch) })
	}
}

// next does the jobs that arrive next, and reports whether there were any: no more will arrive.
func (q *queue) next(batch []job) bool {
	batch = q.inTurn(batch)
	defer clear(batch)
	if len(batch) > 0 {
		_ = q.do(context.Background(), batch)
	}
	return len(batch) > 0
}

// inTurn is collect by one goroutine at a time.
func (q *queue) inTurn(batch []job) []job {
	q.turn <- struct{}{}
	defer func() { <-q.turn }()
	return q.collect(batch)
}

// collect waits for jobs and returns them; empty: no more will arrive.
func (q *queue) collect(batch []job) []job {
	first, ok := <-q.jobs
	if !ok {
		return nil
	}
	batch = append(batch, first)
	q.gather()
	for len(batch) < queueBatch {
		select {
		case j, ok := <-q.jobs:
			if !ok {
				return batch
			}
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// gather waits for more jobs, unless there are enough or no more will arrive.
func (q *queue) gather() {
	q.gate.RLock()
	closed := q.closed
	q.gate.RUnlock()
	if !closed && len(q.jobs) < queueBatch {
		time.Sleep(settlePause)
	}
}

// do sends jobs and keeps those that failed. After a panic each is sent alone, so that one that panics again delays no other. It returns
// the failures, by account, without the panics, which are reported and say nothing about the account.
func (q *queue) do(ctx context.Context, batch []job) map[string]error {
	errs, whole := q.try(ctx, batch)
	for i := 0; !whole && i < len(batch) && !q.whole(errs[max(i-1, 0)]); i++ {
		alone, _ := q.try(ctx, batch[i:i+1])
		errs[i] = alone[0]
	}
	failed := map[string]error{}
	for i, j := range batch {
		err := errs[i]
		if err != nil {
			q.retain(j)
		}
		if err != nil && !errors.Is(err, errPanicked) {
			failed[j.key().account] = err
		}
	}
	return failed
}

// try sends jobs, and returns the result of each, and whether there was no panic: after one, Redis may have any of them.
func (q *queue) try(ctx context.Context, batch []job) (errs []error, whole bool) {
	if whole = q.fence(func() { errs = q.send(ctx, batch) }); whole {
		return errs, true
	}
	for i := range batch {
		if batch[i].tried.IsZero() {
			batch[i].tried = time.Now()
		}
	}
	return slices.Repeat([]error{errPanicked}, len(batch)), false
}

// retain keeps a job until Redis takes it. If too many are kept, the oldest is given up.
func (q *queue) retain(j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := q.index[j.key()]
	switch {
	case j.charge != nil && j.charge.Sum && j.tried.IsZero():
		q.addUp(j.charge) // Redis does not have it, so it may grow; a sum whose reply was lost keeps its id and amounts
	case first != nil && j.charge != nil:
		first.charge.Join(j.charge) // the first settlement's amounts count; the callbacks of both are called
	case first != nil:
		first.extend, first.lease = j.extend, max(first.lease, j.lease) // its account may have changed
	default:
		if len(q.kept) >= q.most {
			q.giveUp()
		}
		j.kept = true
		q.kept, q.index[j.key()] = append(q.kept, &j), &j
	}
}

// giveUp drops the oldest job that is not a sum: its hold expires when its lease ends. The lock is held.
func (q *queue) giveUp() {
	i := slices.IndexFunc(q.kept, func(j *job) bool { return j.charge == nil || !j.charge.Sum })
	if i < 0 {
		return
	}
	oldest := q.kept[i]
	delete(q.index, oldest.key())
	q.kept = slices.Delete(q.kept, i, i+1)
	if c := oldest.charge; c != nil {
		q.lost++
		if c.Left != nil {
			c.Left()
		}
	}
}

// retry sends what is kept, and returns what failed. An account that failed is not tried again in this round: however much of it waits, it
// delays no other. If Redis fails as a whole, or ctx ends, the round does.
func (q *queue) retry(ctx context.Context) error {
	now, next, failed := q.takeKept(), 0, map[string]error{}
	defer func() {
		for _, j := range now[next:] {
			q.retain(j)
		}
	}()
	batch := make([]job, 0, min(queueBatch, len(now)))
	for next < len(now) {
		j := now[next]
		if next++; failed[j.key().account] == nil {
			batch = append(batch, j)
		} else {
			q.retain(j)
		}
		if len(batch) < queueBatch && next < len(now) {
			continue
		}
		last := q.do(ctx, batch)
		maps.Copy(failed, last)
		if batch = batch[:0]; ctx.Err() != nil || slices.ContainsFunc(slices.Collect(maps.Values(last)), q.whole) {
			break
		}
	}
	return saidOnce(failed)
}

// takeKept returns what is kept, which is kept no longer.
func (q *queue) takeKept() []job {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := make([]job, 0, len(q.kept)+len(q.sums))
	for _, j := range q.kept {
		now = append(now, *j)
	}
	for _, c := range q.sums {
		now = append(now, job{charge: c})
	}
	q.kept = nil
	clear(q.index)
	clear(q.sums)
	return now
}

// waiting counts what Redis has not taken yet.
func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.kept) + len(q.sums) + len(q.jobs)
}

// drain ends the goroutines when they have done what waits. Later jobs are done by their callers.
func (q *queue) drain(ctx context.Context) {
	q.gate.Lock()
	if !q.closed {
		q.closed = true
		close(q.jobs)
	}
	q.gate.Unlock()
	q.ended.Wait() // each call has a time limit
	_ = q.retry(ctx)
}

// lostError reports how many settlements were given up since its last call.
func (q *queue) lostError() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.lost
	q.lost = 0
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d settlements were too many to keep; their holds are charged as estimated when their leases end", n)
}
