package limit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	queueLength = 4096 // settlements that wait for a goroutine
	queueBatch  = 32   // that are sent in one round trip
	settlers    = 2    // goroutines that send them
	// settlePause is how long a goroutine lets settlements gather: those of one team cost Redis little more than one.
	settlePause = 5 * time.Millisecond
	keptMost    = 100000 // that are kept while Redis is away; past it the oldest are left to their leases
)

// job is a settlement, or a longer lease.
type job struct {
	charge *Charge
	extend *Held
	lease  time.Duration
}

func (j *job) team() string {
	if j.extend != nil {
		return j.extend.Team
	}
	return j.charge.Held.Team
}

// queue settles behind the requests. What Redis did not take is kept and sent again; the ids make that harmless.
type queue struct {
	shared *Shared
	jobs   chan job
	ended  sync.WaitGroup

	gate   sync.RWMutex // add reads what drain writes
	closed bool

	mu   sync.Mutex
	kept []job
	lost int64 // left to their leases
}

func newQueue(s *Shared) *queue {
	q := &queue{shared: s, jobs: make(chan job, queueLength)}
	for range settlers {
		q.ended.Go(q.work)
	}
	return q
}

// add hands a job to the goroutines. Where they have too much to do the caller does it.
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
	for j := range q.jobs {
		batch = append(batch[:0], j)
		q.gather()
		for len(batch) < queueBatch && len(q.jobs) > 0 {
			if j, ok := <-q.jobs; ok {
				batch = append(batch, j)
			}
		}
		_ = q.do(context.Background(), batch)
	}
}

// gather waits for more, unless there is more than enough or nothing more will come.
func (q *queue) gather() {
	q.gate.RLock()
	closed := q.closed
	q.gate.RUnlock()
	if !closed && len(q.jobs) < queueBatch {
		time.Sleep(settlePause)
	}
}

// do sends jobs and keeps those that failed. It returns the first failure.
func (q *queue) do(ctx context.Context, batch []job) (failed error) {
	s := q.shared
	fail := func(j job, err error) {
		if err != nil {
			q.keep(j)
			failed = errors.Join(failed, err)
		}
	}
	var charges []*Charge
	var settling []job
	for _, j := range batch {
		if j.charge != nil {
			charges, settling = append(charges, j.charge), append(settling, j)
			continue
		}
		fail(j, s.call(ctx, func(ctx context.Context) error { return s.Redis.Extend(ctx, j.extend, j.lease) }))
	}
	if len(charges) == 0 {
		return failed
	}
	call, cancel := context.WithTimeout(ctx, s.patience())
	defer cancel()
	for i, err := range s.Redis.settleAll(call, charges) {
		s.heard(err)
		fail(settling[i], err)
	}
	return failed
}

// keep keeps a job until Redis takes it.
func (q *queue) keep(j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.kept) >= keptMost {
		q.kept = q.kept[1:]
		q.lost++
	}
	q.kept = append(q.kept, j)
}

// retry sends what is kept of a team, of all where team is empty, and returns the first failure.
func (q *queue) retry(ctx context.Context, team string) error {
	q.mu.Lock()
	var now, later []job
	for _, j := range q.kept {
		if team == "" || j.team() == team {
			now = append(now, j)
		} else {
			later = append(later, j)
		}
	}
	q.kept = later
	q.mu.Unlock()
	for len(now) > 0 {
		n := min(queueBatch, len(now))
		if err := q.do(ctx, now[:n]); err != nil {
			for _, j := range now[n:] {
				q.keep(j)
			}
			return err
		}
		now = now[n:]
	}
	return nil
}

// waiting counts what Redis has not taken yet.
func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.kept) + len(q.jobs)
}

// drain ends the goroutines once they have done what waits. What comes later its callers do.
func (q *queue) drain(ctx context.Context) {
	q.gate.Lock()
	if !q.closed {
		q.closed = true
		close(q.jobs)
	}
	q.gate.Unlock()
	q.ended.Wait() // each call is bounded, and a breaker ends them at once
	_ = q.retry(ctx, "")
}

// lostError tells of settlements that were left to their leases since the last time it was asked.
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
