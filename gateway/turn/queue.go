package turn

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Queue has the requests that wait. Create it with [New]; it is safe for concurrent use.
type Queue struct {
	waiting atomic.Int64
	stopped chan struct{}
	stop    sync.Once

	mu      sync.Mutex
	teams   map[string]int     // how many requests of each team wait; no entry: none
	lines   map[Resource]*line // those that wait, by what they wait for; no entry: none
	arrived uint64             // requests that have waited
}

// Waiter is a request that waits. It is in one line.
type Waiter struct {
	*Request

	queue  *Queue
	number uint64        // in the order of arrival
	wake   chan struct{} // has an item when it may try
	line   *line         // nil: it does not wait yet
	fits   time.Time     // when it fits, as its last refusal in the line says; zero: it has not tried there
	timer  *time.Timer   // wakes the one whose turn it is; nil: it never was

	begun time.Time
	tried time.Duration // the time that Try took
	out   Outcome
	err   error
}

// New returns an empty queue.
func New() *Queue {
	return &Queue{stopped: make(chan struct{}), teams: map[string]int{}, lines: map[Resource]*line{}}
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
	return q.lines[r] != nil
}

// Freed has the request whose turn it is at a resource try now: some of it came back earlier than was known.
func (q *Queue) Freed(r Resource) {
	if q.Idle() {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.lines[r]; l != nil {
		l.chosen.try()
	}
}

// Stop ends every wait, now and from now on. It may be called more than once.
func (q *Queue) Stop() { q.stop.Do(func() { close(q.stopped) }) }

// enter puts a request into a line: that of what refused it, or without a refusal of the first of its needs that others wait for. Without
// either it does not wait. An error says why it may not.
func (q *Queue) enter(w *Waiter, refused *Refusal) (Outcome, error) {
	if refused == nil && q.Idle() {
		return Outcome{}, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	at := q.firstAwaited(w.Request)
	if refused != nil {
		at = &refused.Resource
	}
	if at == nil {
		return Outcome{}, nil
	}
	out := q.outlook(w, *at, refused)
	select {
	case <-q.stopped:
		return out, ErrStopped
	default:
	}
	if w.Wait < out.Wait {
		return out, ErrLate
	}
	if q.teams[w.Team] >= w.Depth {
		return out, ErrFull
	}
	q.arrived++
	w.number = q.arrived
	q.teams[w.Team]++
	q.waiting.Add(1)
	q.join(w, *at, refused)
	return Outcome{}, nil
}

func (q *Queue) firstAwaited(r *Request) *Resource {
	for i := range r.Needs {
		if at := &r.Needs[i].Resource; q.lines[*at] != nil && !(r.Placed && at.IsSlots()) {
			return at
		}
	}
	return nil
}

// outlook is what a request that would join a line now has before it.
func (q *Queue) outlook(w *Waiter, at Resource, refused *Refusal) Outcome {
	out := Outcome{Resource: at, Wait: time.Millisecond}
	if refused != nil {
		out.Wait = refused.Wait
	}
	if l := q.lines[at]; l != nil {
		out.Wait, out.Ahead = max(out.Wait, l.estimate(w)), l.length()
	}
	return out
}

// standing is what a request has before it in its line.
func (q *Queue) standing(w *Waiter) Outcome {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Outcome{Resource: w.line.of, Wait: max(w.line.estimate(w), time.Millisecond), Ahead: w.line.length() - 1}
}

// join puts a request into the line of a resource, behind those of its team that came before it.
func (q *Queue) join(w *Waiter, at Resource, refused *Refusal) {
	l := q.lines[at]
	if l == nil {
		l = newLine(at)
		q.lines[at] = l
	}
	w.line, w.fits = l, time.Time{}
	select {
	case <-w.wake: // it was meant for the line before
	default:
	}
	l.add(w)
	if refused != nil {
		l.refused(w, refused)
	}
	l.choose()
}

// quit takes a request out of its line.
func (q *Queue) quit(w *Waiter) {
	l := w.line
	w.rest()
	if l.remove(w); len(l.crowds) == 0 {
		delete(q.lines, l.of)
		return
	}
	l.choose()
}

// mayTry reports whether a request whose turn it seems to be may try. If others wait for something else that it needs, its turn is there.
// The last time, it may try only if it should fit.
func (q *Queue) mayTry(w *Waiter, last bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.line.chosen != w || last && time.Now().Before(w.fits) {
		return false
	}
	at := q.elsewhere(w)
	if at == nil {
		return true
	}
	q.quit(w)
	q.join(w, *at, nil)
	return false
}

// elsewhere is the resource at which a request has to wait before it tries; nil: none. Requests move towards the last of their needs without
// trying, and back only behind older ones of their team or once a try was refused, so that they do not move in circles.
func (q *Queue) elsewhere(w *Waiter) *Resource {
	own := slices.IndexFunc(w.Needs, func(n Need) bool { return n.Resource == w.line.of })
	for i := range w.Needs {
		l := q.lines[w.Needs[i].Resource]
		if l == nil || l == w.line {
			continue
		}
		if own >= 0 && i > own || l.hasOlder(w) {
			return &l.of
		}
	}
	return nil
}

// again is called when a request was refused at its turn.
func (q *Queue) again(w *Waiter, refused *Refusal) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if refused.Resource == w.line.of {
		w.line.refused(w, refused)
		w.after(refused.Wait)
		return
	}
	q.quit(w)
	q.join(w, refused.Resource, refused)
}

// leave ends a request's wait. One that passed pays for its turn wherever others wait for what it took.
func (q *Queue) leave(w *Waiter, passed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if passed {
		for i := range w.Needs {
			if l := q.lines[w.Needs[i].Resource]; l != nil {
				l.pay(w)
			}
		}
	}
	q.quit(w)
	q.waiting.Add(-1)
	if q.teams[w.Team]--; q.teams[w.Team] == 0 {
		delete(q.teams, w.Team)
	}
}

// try has a request try.
func (w *Waiter) try() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// after has a request try after a time.
func (w *Waiter) after(d time.Duration) {
	w.rest()
	if d <= 0 {
		w.try()
		return
	}
	w.timer = time.AfterFunc(d, w.try)
}

// rest keeps a request from trying until it is chosen.
func (w *Waiter) rest() {
	if w.timer != nil {
		w.timer.Stop()
	}
}
