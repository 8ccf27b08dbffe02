package redisstore

import (
	"time"

	"sluice/policy/limit"
)

// LastKnown fills in a team's state on the date of s, as Redis told it last.
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

// Tasks are the open tasks of a team that Redis told of last.
func (r *Store) Tasks(team string) int64 {
	o := r.teams.Get(team)
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tasks
}

// Undisturbed reports whether a team's accounts are not being put back right now. If they are not, and are still those of the epoch,
// it calls do, which may note holds that Redis has now. While they are put back, do would change what was read for that.
func (r *Store) Undisturbed(team string, epoch int64, do func(placed func(h *limit.Held, due time.Time))) bool {
	o := r.teams.Get(team)
	if !o.restoring.TryAcquire(1) {
		return false
	}
	defer o.restoring.Release(1)
	if o.witness().epoch == epoch {
		do(o.placed)
	}
	return true
}
