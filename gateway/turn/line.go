package turn

import (
	"slices"
	"time"
)

// line holds the requests that wait for one resource. Teams take turns by start-time fair queueing: of the oldest requests of all teams,
// the one with the earliest start is next. Each request moves its team's next start by its cost, divided by the team's share.
type line struct {
	of       Resource
	way      string   // the way that has the resource; empty: a team or a key has it
	crowds   []*crowd // one for each team; a line without any is removed
	open     int      // places that are not closed
	chosen   *place   // the next to try; a closed place only if all are closed
	rate     float64  // how much comes back in a second; 0: unknown
	freeings uint64   // how often some of the resource came back early
	start    float64  // of the chosen
	finish   map[string]float64
}

// crowd holds the requests of one team in a line, the oldest first; it is never empty.
type crowd struct {
	team   string
	share  float64
	cost   float64 // of those that are not closed
	places []*place
}

// costOf is how much of the line's resource a request takes; 1 if its needs do not name the resource.
func (l *line) costOf(r *Request) float64 {
	if cost, ok := costIn(r.Needs, l.of); ok {
		return cost
	}
	for i := range r.Ways {
		if cost, ok := costIn(r.Ways[i].Needs, l.of); ok {
			return cost
		}
	}
	return 1
}

func costIn(needs []Need, of Resource) (cost float64, ok bool) {
	for i := range needs {
		if needs[i].Resource == of {
			return needs[i].Cost, true
		}
	}
	return 0, false
}

func (l *line) crowd(team string) *crowd {
	if i := slices.IndexFunc(l.crowds, func(c *crowd) bool { return c.team == team }); i >= 0 {
		return l.crowds[i]
	}
	return nil
}

func (l *line) add(p *place) {
	c := l.crowd(p.Team)
	if c == nil {
		c = &crowd{team: p.Team}
		l.crowds = append(l.crowds, c)
	}
	at := len(c.places)
	for at > 0 && c.places[at-1].number > p.number { // it moved here from another line
		at--
	}
	c.places = slices.Insert(c.places, at, p)
	c.cost += l.costOf(p.Request)
	c.share = p.Share // a reload may have changed it
	l.open++
}

// remove takes out a place, which is closed.
func (l *line) remove(p *place) {
	c := l.crowd(p.Team)
	at := slices.Index(c.places, p)
	c.places = slices.Delete(c.places, at, at+1)
	if len(c.places) == 0 {
		l.crowds = slices.DeleteFunc(l.crowds, func(other *crowd) bool { return other == c })
	}
	if l.chosen == p {
		l.chosen = nil
	}
}

// hasOlder reports whether an earlier request of the same team waits in the line.
func (l *line) hasOlder(w *Waiter) bool {
	first := l.crowd(w.Team).next()
	return first != nil && first.number < w.number
}

// next is the first place of a crowd that is not closed; nil: all are closed.
func (c *crowd) next() *place {
	if c == nil {
		return nil
	}
	if at := slices.IndexFunc(c.places, func(p *place) bool { return !p.closed }); at >= 0 {
		return c.places[at]
	}
	return nil
}

// freed lets the requests of the line try now, in their order.
func (l *line) freed() {
	l.freeings++
	l.choose()
	l.chosen.wakeAfter(l.chosen.left(time.Now()))
}

// choose gives the turn to the first place, unless it has the turn.
func (l *line) choose() {
	was, next := l.chosen, l.first()
	if next == was {
		return
	}
	if was != nil {
		was.stopTimer()
	}
	l.chosen, l.start = next, l.startOf(next.Team)
	for team, finish := range l.finish {
		if finish <= l.start {
			delete(l.finish, team)
		}
	}
	l.chosen.wakeAfter(l.chosen.left(time.Now()))
}

// first is the place whose turn it is: the chosen one, unless it was closed or an older request of its team has arrived. Closed places take
// no turns; if all are closed, the first is the one that may be tried soonest.
func (l *line) first() (first *place) {
	if l.open == 0 {
		return l.firstClosed(time.Now())
	}
	if was := l.chosen; was != nil && l.crowd(was.Team).next() == was {
		return was
	}
	for _, c := range l.crowds {
		if next := c.next(); next != nil && (first == nil || l.before(next, first)) {
			first = next
		}
	}
	return first
}

func (l *line) firstClosed(now time.Time) (first *place) {
	var least time.Duration
	for _, c := range l.crowds {
		for _, p := range c.places {
			if left := max(p.left(now), 0); first == nil || left < least || left == least && l.before(p, first) {
				first, least = p, left
			}
		}
	}
	return first
}

// before reports whether the turn of a comes before that of b.
func (l *line) before(a, b *place) bool {
	x, y := l.startOf(a.Team), l.startOf(b.Team)
	return x < y || x == y && a.number < b.number
}

// startOf is the start of a team's next request.
func (l *line) startOf(team string) float64 { return max(l.start, l.finish[team]) }

// pay moves a team's next start for a request that passed.
func (l *line) pay(w *Waiter) { l.finish[w.Team] = l.startOf(w.Team) + l.costOf(w.Request)/w.Share }

// pay moves the team's next start in each line whose resource a passed request took.
func (all lines) pay(w *Waiter, needs []Need) {
	for i := range needs {
		if l := all[needs[i].Resource]; l != nil {
			l.pay(w)
		}
	}
}
