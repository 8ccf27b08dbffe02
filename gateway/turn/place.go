package turn

import (
	"slices"
	"time"
)

// Waiter is a request that waits: for one of its Needs, or else for its Ways, with a place in the line of each.
type Waiter struct {
	*Request

	queue  *Queue
	number uint64        // in the order of arrival
	wake   chan struct{} // receives when it may be its turn
	places []*place      // one for a need, or some for ways; empty: it does not wait

	begun time.Time
	tried time.Duration // the time that Try took
	out   Outcome
	err   error

	passed bool
	by     string // the way by which it passed
}

// closedPause is the least time between two tries at a closed place, if some of the resource came back during the first. Without it, tries
// that themselves give something back would never end.
const closedPause = time.Second

// place is a request's place in a line.
type place struct {
	*Waiter

	line      *line
	way       string      // that it waits for; empty: it waits for a need
	fits      time.Time   // when it should fit, by its last refusal in the line; zero: it has not tried yet
	seen      uint64      // the line's freeings at its last try
	closed    bool        // waiting does not help it, so others do not wait behind it
	notBefore time.Time   // a closed place is not tried earlier
	timer     *time.Timer // wakes it at its turn; nil: it never had one
}

// seat says in which line a request gets a place.
type seat struct {
	way     string
	at      Resource
	refused *Refusal // nil: it has not tried, because others wait
}

func (w *Waiter) waits() bool { return len(w.places) > 0 }

// at is the request's place for a way; nil: it has none.
func (w *Waiter) at(way string) *place {
	for _, p := range w.places {
		if p.way == way {
			return p
		}
	}
	return nil
}

// isDue reports whether the request's turn has come at one of its places.
func (w *Waiter) isDue(now time.Time) bool {
	return slices.ContainsFunc(w.places, func(p *place) bool { return p.isDue(now) })
}

func (p *place) isDue(now time.Time) bool { return p.line.chosen == p && p.left(now) <= 0 }

// left is how long a try would be pointless.
func (p *place) left(now time.Time) time.Duration {
	switch {
	case p.seen == p.line.freeings:
		return p.fits.Sub(now)
	case p.closed:
		return p.notBefore.Sub(now)
	}
	return 0
}

// refused notes a refusal: when the request fits.
func (p *place) refused(r *Refusal) {
	now := time.Now()
	if !r.Closed {
		p.line.rate = r.Rate
	}
	if p.notBefore = now; p.seen != p.line.freeings {
		p.notBefore = now.Add(min(r.Wait, closedPause))
	}
	p.set(r.Closed, now.Add(r.Wait))
}

// reopen opens a closed place, because its request has not tried since; others then wait behind it.
func (p *place) reopen() {
	if p.closed {
		p.set(false, time.Time{})
	}
}

// set sets the state of a place, which may give it the turn or take the turn away.
func (p *place) set(closed bool, fits time.Time) {
	p.close(closed)
	p.fits = fits
	if p.line.choose(); p.line.chosen == p {
		p.wakeAfter(p.left(time.Now()))
	}
}

func (p *place) close(closed bool) {
	if p.closed == closed {
		return
	}
	p.closed = closed
	l, cost, n := p.line, p.line.costOf(p.Request), 1
	if closed {
		cost, n = -cost, -1
	}
	l.open += n
	l.crowd(p.Team).cost += cost
}

// wakeNow wakes a request.
func (w *Waiter) wakeNow() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// wakeAfter wakes a request after a time.
func (p *place) wakeAfter(d time.Duration) {
	p.stopTimer()
	if d <= 0 {
		p.wakeNow()
		return
	}
	p.timer = time.AfterFunc(d, p.wakeNow)
}

// stopTimer stops the timer that would wake a request.
func (p *place) stopTimer() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// lines are the lines of all resources for which requests wait.
type lines map[Resource]*line

// joinAll puts a request into lines, in each behind older requests of its team.
func (all lines) joinAll(w *Waiter, seats []seat) {
	for i := range seats {
		all.join(w, &seats[i])
	}
}

func (all lines) join(w *Waiter, s *seat) {
	l := all[s.at]
	if l == nil {
		l = &line{of: s.at, way: s.way, finish: map[string]float64{}}
		all[s.at] = l
	}
	p := &place{Waiter: w, line: l, way: s.way, seen: l.freeings}
	w.places = append(w.places, p)
	l.add(p)
	if s.refused != nil {
		p.refused(s.refused)
	}
	l.choose()
}

// quitAll takes a request out of all lines.
func (all lines) quitAll(w *Waiter) {
	for len(w.places) > 0 {
		all.quit(w.places[0])
	}
}

// quit takes a request out of a line.
func (all lines) quit(p *place) {
	l, w := p.line, p.Waiter
	p.stopTimer()
	p.close(true)
	w.places = slices.DeleteFunc(w.places, func(other *place) bool { return other == p })
	if l.remove(p); len(l.crowds) == 0 {
		delete(all, l.of)
		return
	}
	l.choose()
}
