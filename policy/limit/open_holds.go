package limit

import (
	"context"
	"time"
)

// walk is what Tend saw of the open holds when it last walked over the teams.
type walk struct {
	openHolds                      // of all, and of this process without Redis
	teams     map[string]openHolds // of each team in Redis, as it was last seen
	at        time.Time
}

// Holds tells how many holds of all replicas were open when Tend last walked over the teams, which it does every minute,
// and when the oldest of them was made: zero where none is open. It costs no call of Redis. What a part of Redis that is
// away holds is told as it was last seen; what this process holds without Redis is counted too. The error is there until
// Redis was walked once.
func (s *Shared) Holds(context.Context) (open int, oldest time.Time, err error) {
	if w := s.walked.Load(); w != nil {
		return w.count, w.oldest, nil
	}
	return 0, time.Time{}, errUncounted
}

// OpenTasks tells how many tasks of a team were open when Redis last told of it: a moment ago where the team is active
// here, else up to a minute. It costs no call of Redis.
func (s *Shared) OpenTasks(team string) int64 {
	w := s.walked.Load()
	if s.teams.get(team).toldAfter(w) {
		return s.Redis.tasks(team)
	}
	if w == nil {
		return 0
	}
	return w.teams[team].tasks
}

// countOpen adds up what is open: of each team in Redis, and here.
func (s *Shared) countOpen(teams map[string]openHolds) {
	w := &walk{teams: teams, at: s.Now()}
	for _, o := range teams {
		w.add(o)
	}
	s.teams.each(func(_ string, b *books) { w.add(b.openHolds()) })
	s.walked.Store(w)
}
