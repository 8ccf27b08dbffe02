package turn

import (
	"slices"
	"time"
)

// line has the requests that wait for one resource. Teams take turns by start-time fair queueing: of the oldest request of each team the one
// goes whose start is the earliest; a team's next start is later by the cost of this one, divided by its share.
type line struct {
	of       Resource
	way      string   // whose resource it is; empty: a team's or a key's
	crowds   []*crowd // one for each team; the line ends when there is none
	open     int      // places that are not closed
	chosen   *place   // whose turn it is; closed only if all are
	rate     float64  // how much comes back in a second; 0: unknown
	freeings uint64   // how often some of the resource came back early
	start    float64  // of the chosen
	finish   map[string]float64
}

// crowd has the requests of one team in a line, the oldest first; never empty.
type crowd struct {
	team   string
	share  float64
	cost   float64 // of those that are not closed
	places []*place
}

// costOf is what a request takes of the line's resource; 1 if its needs do not have it.
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
	for at > 0 && c.places[at-1].number > p.number { // it comes back from another line
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

// hasOlder reports whether a request of the same team waits in the line that came before this one.
func (l *line) hasOlder(w *Waiter) bool {
	first := l.crowd(w.Team).next()
	return first != nil && first.number < w.number
}

// next is the place of a crowd that goes first; nil: all of it are closed.
func (c *crowd) next() *place {
	if c == nil {
		return nil
	}
	if at := slices.IndexFunc(c.places, func(p *place) bool { return !p.closed }); at >= 0 {
		return c.places[at]
	}
	return nil
}

// freed has those in the line try now, in their turn.
func (l *line) freed() {
	l.freeings++
	l.choose()
	l.chosen.after(l.chosen.left(time.Now()))
}

// choose gives the next turn if no request has it, or one that is closed now or behind an older one of its team.
func (l *line) choose() {
	was, next := l.chosen, l.first()
	if next == was {
		return
	}
	if was != nil {
		was.rest()
	}
	l.chosen, l.start = next, l.startOf(next.Team)
	for team, finish := range l.finish {
		if finish <= l.start {
			delete(l.finish, team)
		}
	}
	l.chosen.after(l.chosen.left(time.Now()))
}

// first is the place whose turn it is: the chosen, if nothing has changed for it. Those that are closed take no turns; where there are no others,
// the one goes that is worth a try first.
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

// pay makes a team's next start later for a request that passed.
func (l *line) pay(w *Waiter) { l.finish[w.Team] = l.startOf(w.Team) + l.costOf(w.Request)/w.Share }

// pay has a request that passed pay wherever others wait for what it took.
func (all lines) pay(w *Waiter, needs []Need) {
	for i := range needs {
		if l := all[needs[i].Resource]; l != nil {
			l.pay(w)
		}
	}
}
