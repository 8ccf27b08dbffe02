package redisstore

import (
	"time"

	"sluice/policy/limit"
)

// standing is a team's state in Redis, and the version of its accounts.
type standing struct {
	limit.State
	version
	hasUsed uint        // a bit for each quota whose use the reply has
	counts  *[]count    // use of other days and months; nil: the reply has none
	took    limit.Stock // from the caller's allowance
}

// version is a version of a team's accounts: the epoch names them, seq numbers their changes. By it a script notices that Redis lost
// them or has an older copy. The zero version knows none.
type version struct{ epoch, seq int64 }

// count is the use of a unit in a day or month, or its holds.
type count struct {
	period, unit int
	held         bool
	n            int64
}

// standing reads a reply that has a team's state, what more reads, and the use that it posted to.
func (w *wire) standing(c *call, more func(s *standing, in *reply)) (s standing, err error) {
	in, err := w.said(c)
	if err != nil {
		return s, err
	}
	s.Outcome, s.epoch, s.seq, s.At, s.Tasks, s.Fault = limit.Outcome(in.next()), in.next(), in.next(), time.UnixMicro(in.next()).UTC(), in.next(), limit.LimitNone
	s.Date = limit.CalendarOf(s.At)
	in.into(s.Used[:])
	in.into(s.Held[:])
	s.hasUsed = 1<<limit.QuotaCount - 1
	if more != nil {
		more(&s, in)
	}
	if len(in.rest) > 0 {
		s.counts = new([]count)
	}
	for len(in.rest) > 0 {
		*s.counts = append(*s.counts, count{period: int(in.next()), unit: int(in.next()), n: in.next()})
	}
	return s, in.end()
}

// LastKnown fills in a team's state on the date of s, by Redis's last answer.
func (r *Store) LastKnown(team string, s *limit.State) {
	o := r.teams.Get(team)
	o.mu.Lock()
	defer o.mu.Unlock()
	for q := range s.Used {
		period := s.Date.Period(q)
		s.Used[q] = o.used[period][q/2]
		if period == o.date.Period(q) {
			s.Held[q] = o.held[q]
		}
	}
	s.Tasks = o.tasks
}

// Tasks are the open tasks of a team by Redis's last answer.
func (r *Store) Tasks(team string) int64 {
	o := r.teams.Get(team)
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tasks
}

// UnlessRestoring calls do unless the team is being restored or the epoch has changed: a restore must not see do's changes. It reports
// false if the team is being restored. With placed do records holds that Redis has now.
func (r *Store) UnlessRestoring(team string, epoch int64, do func(placed func(h *limit.Held, due time.Time))) bool {
	o := r.teams.Get(team)
	if !o.restoring.TryAcquire(1) {
		return false
	}
	defer o.restoring.Release(1)
	if o.version().epoch == epoch {
		do(o.placed)
	}
	return true
}
