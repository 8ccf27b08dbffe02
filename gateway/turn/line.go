package turn

import (
	"slices"
	"time"
)

// line has the requests that wait for one resource. Teams take turns by start-time fair queueing: of the oldest request of each team the one
// goes whose start is the earliest; a team's next start is later by the cost of this one, divided by its share.
type line struct {
	of     Resource
	crowds []*crowd // one for each team; the line ends when there is none
	chosen *Waiter  // whose turn it is
	rate   float64  // how much comes back in a second; 0: unknown
	start  float64  // of the chosen
	finish map[string]float64
}

// crowd has the requests of one team in a line, the oldest first; never empty.
type crowd struct {
	team    string
	share   float64
	cost    float64 // of all
	waiters []*Waiter
}

func newLine(of Resource) *line { return &line{of: of, finish: map[string]float64{}} }

// costOf is what a request takes of the line's resource; 1 if its needs do not have it.
func (l *line) costOf(r *Request) float64 {
	for i := range r.Needs {
		if r.Needs[i].Resource == l.of {
			return r.Needs[i].Cost
		}
	}
	return 1
}

func (l *line) crowd(team string) *crowd {
	if i := slices.IndexFunc(l.crowds, func(c *crowd) bool { return c.team == team }); i >= 0 {
		return l.crowds[i]
	}
	return nil
}

// length is how many requests wait in the line.
func (l *line) length() (n int) {
	for _, c := range l.crowds {
		n += len(c.waiters)
	}
	return n
}

func (l *line) add(w *Waiter) {
	c := l.crowd(w.Team)
	if c == nil {
		c = &crowd{team: w.Team}
		l.crowds = append(l.crowds, c)
	}
	at := len(c.waiters)
	for at > 0 && c.waiters[at-1].number > w.number { // it comes back from another line
		at--
	}
	c.waiters = slices.Insert(c.waiters, at, w)
	c.cost += l.costOf(w.Request)
	c.share = w.Share // a reload may have changed it
	if at == 0 && len(c.waiters) > 1 && l.chosen == c.waiters[1] {
		l.chosen.rest() // the older one goes first
		l.chosen = nil
	}
}

func (l *line) remove(w *Waiter) {
	c := l.crowd(w.Team)
	at := slices.Index(c.waiters, w)
	c.waiters = slices.Delete(c.waiters, at, at+1)
	c.cost -= l.costOf(w.Request)
	if len(c.waiters) == 0 {
		l.crowds = slices.DeleteFunc(l.crowds, func(other *crowd) bool { return other == c })
	}
	if l.chosen == w {
		l.chosen = nil
	}
}

// hasOlder reports whether a request of the same team waits in the line that came before this one.
func (l *line) hasOlder(w *Waiter) bool {
	c := l.crowd(w.Team)
	return c != nil && c.waiters[0].number < w.number
}

// refused notes when a request that tried fits.
func (l *line) refused(w *Waiter, r *Refusal) {
	w.fits, l.rate = time.Now().Add(r.Wait), r.Rate
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
		return int(a.waiters[0].number) - int(b.waiters[0].number)
	})
	l.chosen, l.start = next.waiters[0], l.startOf(next.team)
	for team, finish := range l.finish {
		if finish <= l.start {
			delete(l.finish, team)
		}
	}
	l.chosen.after(time.Until(l.chosen.fits))
}

// startOf is the start of a team's next request.
func (l *line) startOf(team string) float64 { return max(l.start, l.finish[team]) }

// pay makes a team's next start later for a request that passed.
func (l *line) pay(w *Waiter) { l.finish[w.Team] = l.startOf(w.Team) + l.costOf(w.Request)/w.Share }

// estimate is how long it takes until a request fits that is in the line or would join it: until the chosen fits, and what the others
// before it take. While its team gets so much, each other team gets as much by its share as it waits for.
func (l *line) estimate(w *Waiter) time.Duration {
	wait := max(time.Until(l.chosen.fits), 0)
	if l.rate == 0 || l.chosen == w {
		return wait
	}
	own := l.costOf(w.Request)
	if c := l.crowd(w.Team); c != nil {
		for _, other := range c.waiters {
			if other == w {
				break
			}
			own += l.costOf(other.Request)
		}
	}
	all := own
	for _, c := range l.crowds {
		if c.team != w.Team {
			all += min(c.cost, own*c.share/w.Share)
		}
	}
	all -= min(all, l.costOf(l.chosen.Request))
	return wait + time.Duration(all/l.rate*float64(time.Second))
}
