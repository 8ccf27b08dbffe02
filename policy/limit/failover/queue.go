package failover

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
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
	charge *limit.Charge
	extend *limit.Held
	lease  time.Duration
	tried  time.Time // when its reply was lost first; zero: it was never sent in vain
	kept   bool      // it was ever
}

// old reports whether what Redis knew of a charge's hold may be forgotten by now: that the charge arrived, or that another
// replica charged the hold when its lease ended. Sent then it counts only where its hold is still there.
func (j *job) old(now time.Time) bool {
	return !j.tried.IsZero() && now.Sub(j.tried) > redisstore.MemoryOf(j.charge)-time.Minute || j.kept && outlived(j.charge, now)
}

// outlived reports whether the hold, which Redis had, was made so long ago that it may have been charged and forgotten. One
// that was admitted without Redis may never have been there; its id may tell no time.
func outlived(c *limit.Charge, now time.Time) bool {
	made := limit.MadeAt(c.Held.ID)
	return !c.Held.Local && !made.IsZero() && now.Sub(made) > limit.LateTruth
}

// sumOf is what charges are added up by.
type sumOf struct {
	team      string
	day       int
	model     string
	endpoint  policy.Endpoint
	estimated bool
}

// queue settles behind the requests. What Redis did not take is kept and sent again; the ids make that harmless.
type queue struct {
	shared *Failover
	jobs   chan job
	ended  sync.WaitGroup

	gate   sync.RWMutex // add reads what drain writes
	closed bool

	mu   sync.Mutex
	kept []job
	sums map[sumOf]*limit.Charge  // of what was settled here, and never sent
	ids  map[string]*limit.Charge // that kept settles, by their holds
	// leases are those that kept extends holds to, by their ids: one hold is kept once, with the longest.
	leases map[string]time.Duration
	most   int   // that are kept
	lost   int64 // charges left to their leases
}

func newQueue(s *Failover) *queue {
	q := &queue{shared: s, jobs: make(chan job, queueLength), sums: map[sumOf]*limit.Charge{}, ids: map[string]*limit.Charge{}, leases: map[string]time.Duration{}, most: keptMost}
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
		for more := true; more && len(batch) < queueBatch; {
			select { // the other goroutine may have taken what there was
			case j, ok := <-q.jobs:
				if more = ok; ok {
					batch = append(batch, j)
				}
			default:
				more = false
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
	now := s.Now()
	fail := func(j job, err error) {
		if err != nil {
			q.keep(j)
			failed = errors.Join(failed, err)
		}
	}
	settling := map[bool][]job{} // by whether an unknown hold is charged all the same
	for _, j := range batch {
		if j.charge != nil {
			settling[!j.old(now)] = append(settling[!j.old(now)], j)
			continue
		}
		fail(j, s.call(ctx, func(ctx context.Context) error { return s.Store.Extend(ctx, j.extend, j.lease) }))
	}
	for post, jobs := range settling {
		charges := make([]*limit.Charge, len(jobs))
		for i := range jobs {
			charges[i] = jobs[i].charge
		}
		call, cancel := context.WithTimeout(ctx, s.patience())
		for i, came := range s.Store.SettleAll(call, charges, post) {
			s.came(&jobs[i], came, now)
			fail(jobs[i], came.Err)
		}
		cancel()
	}
	return failed
}

// keep keeps a job until Redis takes it. Past keptMost the oldest is left to its lease, and who waits for it is told so.
func (q *queue) keep(j job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if j.charge != nil && j.charge.Sum && j.tried.IsZero() {
		q.addUp(j.charge)
		return
	}
	if q.merge(&j) {
		return
	}
	if len(q.kept) >= q.most {
		q.giveUp()
	}
	j.kept = true
	q.kept = append(q.kept, j)
}

// sum keeps a charge of a hold that is unknown to Redis, added to others until they are sent: Redis learns of them as of one.
func (q *queue) sum(c *limit.Charge) {
	h := *c.Held
	h.ID, h.Amounts, h.Local = "sum-"+rand.Text(), limit.Amounts{}, true
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addUp(&limit.Charge{Held: &h, Team: c.Team, Amounts: c.Amounts.Bound(), Estimated: c.Estimated, Sum: true})
}

// addUp adds a charge to what was not sent yet. The lock is held.
func (q *queue) addUp(c *limit.Charge) {
	h := c.Held
	of := sumOf{h.Team, h.Day, h.Model, h.Endpoint, c.Estimated}
	if s := q.sums[of]; s != nil {
		s.Team, s.Amounts = c.Team, s.Amounts.Plus(c.Amounts)
		return
	}
	q.sums[of] = c
}

// giveUp leaves the oldest job to its lease. A sum has none, and there are few. The lock is held.
func (q *queue) giveUp() {
	i := slices.IndexFunc(q.kept, func(j job) bool { return j.charge == nil || !j.charge.Sum })
	if i < 0 {
		return
	}
	oldest := q.kept[i]
	q.forget(&oldest)
	q.kept = slices.Delete(q.kept, i, i+1)
	if c := oldest.charge; c != nil {
		q.lost++
		if c.Left != nil {
			c.Left()
		}
	}
}

// merge notes a job by its hold, and reports whether one of the same kind is kept for that already. The lock is held.
func (q *queue) merge(j *job) bool {
	if j.charge == nil {
		lease, kept := q.leases[j.extend.ID]
		q.leases[j.extend.ID] = max(lease, j.lease)
		return kept
	}
	if first := q.ids[j.charge.Held.ID]; first != nil {
		first.Join(j.charge) // whoever settles a hold first counts
		return true
	}
	q.ids[j.charge.Held.ID] = j.charge
	return false
}

// forget drops the note of a job that is kept no more, and gives it the longest lease that was asked for. The lock is held.
func (q *queue) forget(j *job) {
	if j.charge != nil {
		delete(q.ids, j.charge.Held.ID)
		return
	}
	j.lease = q.leases[j.extend.ID]
	delete(q.leases, j.extend.ID)
}

// retry sends what is kept, and returns the first failure.
func (q *queue) retry(ctx context.Context) error {
	q.mu.Lock()
	now := q.kept
	q.kept = nil
	for i := range now {
		q.forget(&now[i])
	}
	for _, c := range q.sums {
		now = append(now, job{charge: c})
	}
	clear(q.sums)
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
	return len(q.kept) + len(q.sums) + len(q.jobs)
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
	_ = q.retry(ctx)
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
