package turn

import (
	"sync"
	"sync/atomic"
	"time"

	"sluice/policy/limit"
)

// Queue holds the requests that wait. Create it with [New]; it is safe for concurrent use.
type Queue struct {
	waiting atomic.Int64
	stopped chan struct{}
	stop    sync.Once
	changed atomic.Pointer[chan struct{}] // Changed closes and replaces it

	mu      sync.Mutex
	teams   map[string]int // how many requests of each team wait
	lines   lines
	arrived uint64 // requests that have waited
}

// New returns an empty queue.
func New() *Queue {
	q := &Queue{stopped: make(chan struct{}), teams: map[string]int{}, lines: lines{}}
	q.changed.Store(new(make(chan struct{})))
	return q
}

// Idle reports whether no request waits. It takes no lock.
func (q *Queue) Idle() bool { return q.waiting.Load() == 0 }

// Waiting is how many requests of a team wait.
func (q *Queue) Waiting(team string) int {
	if q.Idle() {
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.teams[team]
}

// Awaited reports whether a request waits for a resource.
func (q *Queue) Awaited(r Resource) bool {
	if q.Idle() {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lines.awaited(r) != nil
}

// Ahead returns the ways of a request for which others wait. A request that passed and then changes to such a way would overtake them.
func (q *Queue) Ahead(r *Request) Awaited {
	if q.Idle() {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	awaited, _ := q.lines.ways(&Waiter{Request: r}, time.Now())
	return awaited
}

// Freed lets the requests that wait for a resource try now, in their order: some of it came back earlier than expected.
func (q *Queue) Freed(r Resource) {
	if q.Idle() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.lines[r]; l != nil {
		l.freed()
	}
}

// Back lets the requests that wait for a cooling account try now, in their order: the account works again.
func (q *Queue) Back(way string) {
	if q.Idle() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for of, l := range q.lines {
		if of.Scope == limit.ScopeAccount && of.Unit == "" && l.way == way {
			l.freed()
		}
	}
}

// Changed makes every waiting request call its Check.
func (q *Queue) Changed() { close(*q.changed.Swap(new(make(chan struct{})))) }

// Stop ends every wait, now and from now on. It may be called more than once.
func (q *Queue) Stop() { q.stop.Do(func() { close(q.stopped) }) }

// enter puts a request into the lines of the resources that refused it or, without an answer, of those that others wait for. If there are
// none, the request does not wait, and may try the ways that are not awaited. An error says why it must not wait.
func (q *Queue) enter(w *Waiter, a *Answer, tried Awaited) (awaited Awaited, out Outcome, err error) {
	if a == nil && q.Idle() {
		return nil, out, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var seats []seat
	if a == nil {
		seats, awaited = q.lines.behind(w)
	} else {
		seats = q.lines.refusedAt(w, a, tried)
	}
	if len(seats) == 0 {
		return awaited, out, nil
	}
	out = q.lines.outlook(w, seats)
	select {
	case <-q.stopped:
		return nil, out, ErrStopped
	default:
	}
	if w.Wait < out.Wait {
		return nil, out, ErrLate
	}
	if q.teams[w.Team] >= w.Depth {
		return nil, out, ErrFull
	}
	q.arrived++
	w.number = q.arrived
	q.teams[w.Team]++
	q.waiting.Add(1)
	q.lines.joinAll(w, seats)
	return nil, Outcome{}, nil
}

// mayTry reports whether it is a request's turn, and which of its ways it must not try. If others wait for another resource that it needs,
// it moves to that line.
func (q *Queue) mayTry(w *Waiter) (awaited Awaited, may bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	if !w.isDue(now) {
		return nil, false
	}
	if at := q.lines.elsewhere(w); at != nil {
		q.lines.quitAll(w)
		q.lines.joinAll(w, []seat{{at: *at}})
		return nil, false
	}
	awaited, open := q.lines.ways(w, now)
	if !open {
		if w.places[0].way == "" {
			q.lines.quitAll(w)
			q.lines.joinAll(w, q.lines.atWays(w, nil, awaited))
		}
		return nil, false
	}
	for _, p := range w.places {
		if _, others := awaited[p.way]; !others { // it tries this way
			p.seen = p.line.freeings
		}
	}
	return awaited, true
}

// again puts a request that was refused at its turn into the lines of what refused it.
func (q *Queue) again(w *Waiter, a *Answer, awaited Awaited) {
	q.mu.Lock()
	defer q.mu.Unlock()
	own := a.by("")
	switch first := w.places[0]; {
	case own != nil && own.Resource == first.line.of:
		first.refused(own)
	case own != nil || first.way == "":
		q.lines.quitAll(w)
		q.lines.joinAll(w, q.lines.refusedAt(w, a, awaited))
	default:
		q.lines.refuse(w, a, awaited)
	}
}

// change replaces what a waiting request asks for. It may try as soon as no other request is before it.
func (q *Queue) change(w *Waiter, r *Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lines.quitAll(w)
	w.Request = r
	seats, _ := q.lines.behind(w)
	if len(seats) == 0 {
		seats = q.lines.anywhere(w)
	}
	q.lines.joinAll(w, seats)
}

// leave ends a request's wait. If it passed, its team pays for the turn in every line whose resource it took.
func (q *Queue) leave(w *Waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.passed {
		q.lines.pay(w, w.Needs)
		for i := range w.Ways {
			if w.Ways[i].ID == w.by {
				q.lines.pay(w, w.Ways[i].Needs)
			}
		}
	}
	q.lines.quitAll(w)
	q.waiting.Add(-1)
	if q.teams[w.Team]--; q.teams[w.Team] == 0 {
		delete(q.teams, w.Team)
	}
}
