package redisstore

import (
	"time"

	"sluice/policy/limit"
)

// LastKnown fills in how a team stands on the date of s, by what Redis said last.
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

// Undisturbed does something, and reports that, unless the accounts of a team are being put back, or are others than those of an
// epoch: what is put back was read before. It may note holds that Redis has now.
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
