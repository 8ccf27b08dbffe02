package limit

import (
	"sync"
	"sync/atomic"
	"time"

	"sluice/policy"
)

// books are what this replica knows of one team beside Redis: its allowances, and what was spent of them. No mode hangs on
// them: each request asks Redis first, and spends what it was lent where Redis does not answer.
type books struct {
	meeting    turn
	met        atomic.Int64 // the number of Redis's memory in which its accounts are known here; 0: none
	mu         sync.Mutex
	team       *policy.Team      // as it was read last; nil: it has sent no request yet
	seen       time.Time         // its last request
	told       time.Time         // the last answer of Redis about it
	asked      time.Time         // when its allowances were last renewed, or were tried to be
	lapsed     time.Time         // when it was last looked whose leases have ended
	short      bool              // little is left: allowances are renewed often, so that none is kept from the others
	allowances []*allowance      // of today and, towards midnight, of tomorrow
	running    map[string]*spent // admitted here, and not yet known to be held in Redis
	sums       map[sumOf]*sum    // of what was settled here and is in no report
	report     report            // that is on its way
	rated      Amounts           // taken from the rates here, and not from Redis's
	calls      int64             // that told Redis of allowances
	recent     recent
}

// spent is a request that was admitted without Redis.
type spent struct {
	held     *Held
	from     *allowance // nil: nothing of it is counted
	took     stock      // of the allowance
	due      time.Time  // the end of its lease
	byID     bool       // Redis may hold it, or settle it, by its id: no sum may contain it
	reported bool       // it is in the report that is on its way
	ended    bool       // it is settled, and Redis was not told yet
}

// sumOf is what settled requests are added up by.
type sumOf struct {
	day      int
	model    string
	endpoint policy.Endpoint
}

// sum is what was used, and the part of it that nobody knows for certain.
type sum struct{ used, estimated Amounts }

// report is sums on their way to Redis. They stay together, under their number, until Redis has acknowledged it.
type report struct {
	number int64
	sent   bool           // it is on its way; else it was acknowledged, and there is only its number
	sums   map[sumOf]*sum // they do not change
	rated  Amounts        // what it takes from Redis's rates
}

// see notes a request of the team, and lends it what it may take of its day's allowance.
func (b *books) see(h *Hold, day int, now time.Time) (l loan) {
	want := stockOf(&h.Amounts, h.Task)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.team, b.seen = h.Team, now
	b.recent.add(want, now)
	if a := b.on(day); a != nil {
		l = a.lend(want)
	}
	return l
}

// on returns the allowance of a day; nil: there is none.
func (b *books) on(day int) *allowance {
	for _, a := range b.allowances {
		if a.day == day {
			return a
		}
	}
	return nil
}

// answered notes that Redis has answered, and what it took of the loan.
func (b *books) answered(l *loan, took stock, short bool, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.end(took)
	b.told, b.short = now, b.short || short
}

// spend turns a loan into a hold here.
func (b *books) spend(l *loan, h *Held, due time.Time, byID bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &spent{held: h, from: l.from, took: l.of, due: due, byID: byID}
	l.end(l.of)
	if h.rates != 0 {
		b.rated = b.rated.plus(h.Amounts)
	}
	if b.running == nil {
		b.running = map[string]*spent{}
	}
	b.running[h.ID] = s
}

// settle settles what was admitted here, where it is, and reports whether this did. Of a task's end another replica may hear,
// too: where nobody can tell that from a sum, byID says that Redis has to be told of it by its id.
func (b *books) settle(c *Charge, used Amounts) (here, first, byID bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.running[c.Held.ID]
	switch {
	case s == nil:
		return false, false, false
	case s.ended:
		return true, false, false
	case s.byID || s.reported:
		s.byID = true
		return false, false, false
	case c.Held.Task:
		s.byID, s.ended = true, true
		return true, true, true
	}
	delete(b.running, c.Held.ID)
	if s.from != nil {
		s.from.giveBack(s.took, stockOf(&used, false))
	}
	if b.sums == nil {
		b.sums = map[sumOf]*sum{}
	}
	of := sumOf{c.Held.Day, c.Held.Model, c.Held.Endpoint}
	if b.sums[of] == nil {
		b.sums[of] = &sum{}
	}
	b.sums[of].used = b.sums[of].used.plus(used)
	if c.Estimated {
		b.sums[of].estimated = b.sums[of].estimated.plus(used)
	}
	return true, true, false
}

// extend gives what runs here a new lease, and reports whether Redis may hold it.
func (b *books) extend(id string, due time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.running[id]
	if s != nil && due.After(s.due) {
		s.due = due
	}
	return s == nil || s.byID || s.reported
}

// spending reports whether something was spent here that Redis was not told.
func (b *books) spending() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.unreported()
}

func (b *books) unreported() bool { return len(b.running)+len(b.sums) > 0 || b.report.sent }

// settledInRedis notes that Redis has settled what was admitted here.
func (b *books) settledInRedis(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.running, id)
}

// setAside is what Redis has to set aside on each day: what may be spent, is lent, and was spent and not acknowledged. It is
// numbered like the renewals.
func (b *books) setAside() (call int64, rows []setAside) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.allowances {
		of := a.left.atMost(a.left).plus(a.lent)
		for _, s := range b.running {
			if s.from == a {
				of = of.plus(s.took)
			}
		}
		of = of.plus(a.spentIn(b.sums)).plus(a.spentIn(b.report.sums))
		for i := range of {
			if !a.counts(i) {
				of[i] = 0
			}
		}
		rows = append(rows, setAside{a.day, of})
	}
	b.calls++
	return b.calls, rows
}

// spentIn is what sums have of an allowance.
func (a *allowance) spentIn(sums map[sumOf]*sum) (all stock) {
	for of, s := range sums {
		for i, n := range s.used {
			if of.day == a.day && a.counts(i) {
				all[i] += n
			}
		}
	}
	return all
}

// openHolds counts what runs here and may not be held in Redis.
func (b *books) openHolds() (o openHolds) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.running {
		o.note(madeAt(s.held.ID))
	}
	return o
}

// tasks are the team's open tasks, where Redis told of them after a walk.
func (b *books) tasks(o *own, w *walk) (n int64, told bool) {
	b.mu.Lock()
	told = !b.told.IsZero() && (w == nil || b.told.After(w.at))
	b.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last.tasks, told
}

// spentInto adds to what was last known of a team what was spent here and Redis was not told.
func (b *books) spentInto(st *state) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.running {
		if s.held.Task {
			st.tasks++
		}
		for q := range st.held {
			if s.held.Day/100 == st.date.month && (q%2 == 1 || s.held.Day == st.date.day) {
				st.held[q] += s.held.Amounts[q/2]
			}
		}
	}
	for _, sums := range []map[sumOf]*sum{b.sums, b.report.sums} {
		for of, sum := range sums {
			for q := range st.used {
				if of.day/100 == st.date.month && (q%2 == 1 || of.day == st.date.day) {
					st.used[q] += sum.used[q/2]
				}
			}
		}
	}
}
