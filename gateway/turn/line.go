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
	chosen   *place   // whose turn it is
	rate     float64  // how much comes back in a second; 0: unknown
	freeings uint64   // how often some of the resource came back early
	start    float64  // of the chosen
	finish   map[string]float64
}

// crowd has the requests of one team in a line, the oldest first; never empty.
type crowd struct {
	team   string
	share  float64
	cost   float64 // of all
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
	if at == 0 && len(c.places) > 1 && l.chosen == c.places[1] {
		l.chosen.rest() // the older one goes first
		l.chosen = nil
	}
}

func (l *line) remove(p *place) {
	c := l.crowd(p.Team)
	at := slices.Index(c.places, p)
	c.places = slices.Delete(c.places, at, at+1)
	c.cost -= l.costOf(p.Request)
	if len(c.places) == 0 {
		l.crowds = slices.DeleteFunc(l.crowds, func(other *crowd) bool { return other == c })
	}
	if l.chosen == p {
		l.chosen = nil
	}
}

// hasOlder reports whether a request of the same team waits in the line that came before this one.
func (l *line) hasOlder(w *Waiter) bool {
	c := l.crowd(w.Team)
	return c != nil && c.places[0].number < w.number
}

// freed has those in the line try now, in their turn.
func (l *line) freed() {
	l.freeings++
	l.chosen.try()
}

// choose gives the next turn if no request has it.
func (l *line) choose() {
	if l.chosen != nil {
		return
	}
	next := slices.MinFunc(l.crowds, func(a, b *crowd) int {
		switch x, y := l.startOf(a.team), l.startOf(b.team); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return int(a.places[0].number) - int(b.places[0].number)
	})
	l.chosen, l.start = next.places[0], l.startOf(next.team)
	for team, finish := range l.finish {
		if finish <= l.start {
			delete(l.finish, team)
		}
	}
	l.chosen.after(l.chosen.left(time.Now()))
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
