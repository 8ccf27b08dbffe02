package redisstore

import (
	"time"

	"sluice/policy/limit"
)

// known is what this process knows of the teams.
type known struct{ teams limit.PerTeam[team] }

// LastKnown fills in a team's state on the date of s, by Redis's last answer.
func (k *known) LastKnown(team string, s *limit.State) {
	o := k.teams.Get(team)
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
func (k *known) Tasks(team string) int64 {
	o := k.teams.Get(team)
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tasks
}

// UnlessRestoring calls do unless the team is being restored or the epoch has changed: a restore must not see do's changes. It reports
// false if the team is being restored. do calls placed for each hold that is now in Redis.
func (k *known) UnlessRestoring(team string, epoch int64, do func(placed func(h *limit.Held, due time.Time))) bool {
	o := k.teams.Get(team)
	if !o.restoring.TryAcquire(1) {
		return false
	}
	defer o.restoring.Release(1)
	if o.version().epoch == epoch {
		do(o.placed)
	}
	return true
}
