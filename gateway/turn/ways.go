package turn

import (
	"slices"
	"time"
)

// awaited is the line of a resource; nil: no request waits for it. Closed places do not count.
func (all lines) awaited(r Resource) *line {
	if l := all[r]; l != nil && l.open > 0 {
		return l
	}
	return nil
}

// firstAwaited is the line of the first need for which others wait; nil: none.
func (all lines) firstAwaited(w *Waiter, needs []Need) *line {
	for i := range needs {
		if l := all.awaited(needs[i].Resource); l != nil && !(w.Placed && l.of.IsSlots()) {
			return l
		}
	}
	return nil
}

// behind returns the seats of a new request, in the lines of the resources that others wait for. There are none if it may try, by a way
// that is not awaited.
func (all lines) behind(w *Waiter) ([]seat, Awaited) {
	if l := all.firstAwaited(w, w.Needs); l != nil {
		return []seat{{at: l.of}}, nil
	}
	awaited, open := all.ways(w, time.Now())
	if open {
		return nil, awaited
	}
	return all.atWays(w, nil, awaited), nil
}

// refusedAt returns the seats of a refused request.
func (all lines) refusedAt(w *Waiter, a *Answer, awaited Awaited) []seat {
	if own := a.by(""); own != nil {
		return []seat{{at: own.Resource, refused: own}}
	}
	return all.atWays(w, a, awaited)
}

// atWays returns the seats at the ways that refused the request, and at those for which others waited.
func (all lines) atWays(w *Waiter, a *Answer, awaited Awaited) (list []seat) {
	for i := range w.Ways {
		way := &w.Ways[i]
		if _, others := awaited[way.ID]; others {
			at := way.Needs[len(way.Needs)-1].Resource // if no request waits any more, it tries at once
			if l := all.firstAwaited(w, way.Needs); l != nil {
				at = l.of
			}
			list = append(list, seat{way: way.ID, at: at})
			continue
		}
		if a == nil {
			continue
		}
		if r := a.by(way.ID); r != nil && r.Wait > 0 {
			list = append(list, seat{way.ID, r.Resource, r})
		}
	}
	return list
}

// anywhere returns the seats of a request that has not tried and for whose needs no other request waits.
func (all lines) anywhere(w *Waiter) []seat {
	every := Awaited{}
	for i := range w.Ways {
		every[w.Ways[i].ID] = 0
	}
	if seats := all.atWays(w, nil, every); len(seats) > 0 {
		return seats
	}
	if n := len(w.Needs); n > 0 {
		return []seat{{at: w.Needs[n-1].Resource}}
	}
	return []seat{{}} // it needs nothing
}

// refuse notes the refusals of the ways that a request tried. Its places at other ways stay.
func (all lines) refuse(w *Waiter, a *Answer, awaited Awaited) {
	for _, p := range slices.Clone(w.places) {
		r := a.by(p.way)
		switch _, others := awaited[p.way]; {
		case others:
			p.reopen()
		case r == nil || r.Wait <= 0:
			all.quit(p)
		case r.Resource == p.line.of:
			p.refused(r)
		default:
			all.quit(p)
			all.join(w, &seat{p.way, r.Resource, r})
		}
	}
}

// elsewhere is the need for which a request has to wait before it tries; nil: it may try. Without a try, requests move only forward in
// their list of needs, and then to their ways. They move back only behind an older request of their team, or after a refusal: otherwise
// they could move in circles.
func (all lines) elsewhere(w *Waiter) *Resource {
	here := w.places[0].line
	own := slices.IndexFunc(w.Needs, func(n Need) bool { return n.Resource == here.of })
	for i := range w.Needs {
		l := all[w.Needs[i].Resource]
		if l != nil && l != here && (own >= 0 && i > own || l.hasOlder(w)) {
			return &l.of
		}
	}
	return nil
}

// ways returns the ways that a request must not take now, and whether it may take another one. If others wait for another need of a way,
// the request's place moves to that line.
func (all lines) ways(w *Waiter, now time.Time) (awaited Awaited, open bool) {
	open = len(w.Ways) == 0
	for i := range w.Ways {
		way := &w.Ways[i]
		l := all.inFront(w, way, now)
		if l == nil {
			open = true
			continue
		}
		p := w.at(way.ID)
		if p != nil && p.line != l {
			all.quit(p)
			all.join(w, &seat{way: way.ID, at: l.of})
		}
		if awaited == nil {
			awaited = Awaited{}
		}
		awaited[way.ID] = l.prospect(w, p).wait()
	}
	return awaited, open
}

// inFront is the line in which a request has to wait for a way; nil: it may take the way. Requests move as in elsewhere.
func (all lines) inFront(w *Waiter, way *Way, now time.Time) *line {
	p := w.at(way.ID)
	switch {
	case p == nil, p.closed && !p.isDue(now):
		return all.firstAwaited(w, way.Needs)
	case !p.isDue(now):
		return p.line
	}
	own := slices.IndexFunc(way.Needs, func(n Need) bool { return n.Resource == p.line.of })
	for i := range way.Needs {
		l := all.awaited(way.Needs[i].Resource)
		if l != nil && l != p.line && (own >= 0 && i > own || l.hasOlder(w)) {
			return l
		}
	}
	return nil
}
