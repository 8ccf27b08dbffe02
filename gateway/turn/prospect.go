package turn

import (
	"math"
	"slices"
	"time"
)

// prospect says how long a request has to wait in a line.
type prospect struct {
	at    Resource
	ahead int           // requests before it
	from  time.Duration // until the chosen request fits
	work  time.Duration // how long the others before it then take, if only this line serves them; 0: none, or unknown
}

func (p prospect) wait() time.Duration { return max(p.from+p.work, time.Millisecond) }

// prospect returns the prospect of a request; p is its place in the line, nil if it would join the line. Until the request passes, each
// other team gets its share, but no more than it waits for.
func (l *line) prospect(w *Waiter, p *place) prospect {
	view := prospect{at: l.of, ahead: l.open}
	if p != nil && p.line == l && !p.closed {
		view.ahead--
	}
	if l.open == 0 { // no request is before it
		return view
	}
	view.from = max(l.chosen.left(time.Now()), 0)
	if l.rate == 0 || l.chosen.Waiter == w {
		return view
	}
	own := l.costOf(w.Request)
	if c := l.crowd(w.Team); c != nil {
		for _, other := range c.places {
			if other.Waiter == w {
				break
			}
			if !other.closed {
				own += l.costOf(other.Request)
			}
		}
	}
	all := own
	for _, c := range l.crowds {
		if c.team != w.Team {
			all += min(c.cost, own*c.share/w.Share)
		}
	}
	all -= min(all, l.costOf(l.chosen.Request))
	view.work = time.Duration(all / l.rate * float64(time.Second))
	return view
}

// outlook is what a request would wait for at these seats.
func (all lines) outlook(w *Waiter, seats []seat) Outcome {
	var views []prospect
	for i := range seats {
		s := &seats[i]
		view := prospect{at: s.at}
		if l := all[s.at]; l != nil {
			view = l.prospect(w, nil)
		}
		switch r := s.refused; {
		case r != nil && r.Closed:
			continue
		case r != nil && r.Wait > view.from+view.work:
			view.from, view.work = r.Wait, 0
		}
		views = append(views, view)
	}
	return outcomeOf(views)
}

// standing is what a waiting request waits for.
func (q *Queue) standing(w *Waiter) Outcome {
	q.mu.Lock()
	defer q.mu.Unlock()
	var views []prospect
	for _, p := range w.places {
		if !p.closed {
			views = append(views, p.line.prospect(w, p))
		}
	}
	return outcomeOf(views)
}

// outcomeOf returns the shortest wait. Several lines together serve the request earlier than one does: each does a part of the work before
// it, from the moment when its chosen request fits. speed is the part of the work that the lines so far do in a nanosecond, and missed the
// part that they do not do because they begin later.
func outcomeOf(views []prospect) Outcome {
	if len(views) == 0 {
		return Outcome{Wait: time.Millisecond}
	}
	slices.SortFunc(views, func(a, b prospect) int { return int(a.from - b.from) })
	best, together := views[0], views[0].wait()
	missed, speed := 0.0, 0.0
	for _, v := range views {
		if v.wait() < best.wait() {
			best = v
		}
		if v.work > 0 && v.from < together {
			missed += float64(v.from) / float64(v.work)
			speed += 1 / float64(v.work)
			together = min(together, time.Duration(math.Round((1+missed)/speed)))
		}
	}
	return Outcome{Resource: best.at, Wait: max(min(together, best.wait()), time.Millisecond), Ahead: best.ahead}
}
