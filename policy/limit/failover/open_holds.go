package failover

import (
	"context"
	"time"

	"sluice/policy/limit"
)

// walk is what Tend saw of the open holds when it last walked over the teams.
type walk struct {
	limit.OpenHolds                            // of all, and of this process without Redis
	teams           map[string]limit.OpenHolds // of each team in Redis, as it was last seen
	at              time.Time
}

// Holds tells how many holds of all replicas were open when Tend last walked over the teams, which it does every minute,
// and when the oldest of them was made: zero where none is open. It costs no call of Redis. What a part of Redis that is
// away holds is told as it was last seen; what this process holds without Redis is counted too. The error is there until
// Redis was walked once.
func (s *Failover) Holds(context.Context) (open int, oldest time.Time, err error) {
	if w := s.walked.Load(); w != nil {
		return w.Count, w.Oldest, nil
	}
	return 0, time.Time{}, limit.ErrUncounted
}

// OpenTasks tells how many tasks of a team were open when Redis last told of it: a moment ago where the team is active
// here, else up to a minute. It costs no call of Redis.
func (s *Failover) OpenTasks(team string) int64 {
	w := s.walked.Load()
	if s.teams.Get(team).toldAfter(w) {
		return s.Store.Tasks(team)
	}
	if w == nil {
		return 0
	}
	return w.teams[team].Tasks
}

// countOpen adds up what is open: of each team in Redis, and here.
func (s *Failover) countOpen(teams map[string]limit.OpenHolds) {
	w := &walk{teams: teams, at: s.Now()}
	for _, o := range teams {
		w.Add(o)
	}
	s.teams.Each(func(_ string, b *books) { w.Add(b.openHolds()) })
	s.walked.Store(w)
}
