package gateway

import (
	"sync"
	"sync/atomic"
)

// budget bounds the request bodies in memory: of all teams together, and of one team to half of that, so that a team
// with large uploads leaves room for the others. It counts live bytes, not what the collector has yet to free.
type budget struct {
	total int64
	used  atomic.Int64
	teams sync.Map // team id → *atomic.Int64; grows with the teams file, never with requests
}

func newBudget(total int64) *budget { return &budget{total: total} }

// share is what one request holds of the budget. The zero share holds nothing and releases nothing.
type share struct {
	budget *budget
	team   *atomic.Int64
	held   int64
}

// share begins a request's share of a team's part.
func (b *budget) share(team string) share {
	used, ok := b.teams.Load(team)
	if !ok {
		used, _ = b.teams.LoadOrStore(team, new(atomic.Int64))
	}
	return share{budget: b, team: used.(*atomic.Int64)}
}

// free reports whether another byte could be taken.
func (s *share) free() bool {
	return s.budget.used.Load() < s.budget.total && s.team.Load() < s.budget.total/2
}

// take adds n bytes to what the request holds, or changes nothing and reports false. Adding first and giving back when
// it was too much keeps two requests from both seeing the last bytes free.
func (s *share) take(n int64) bool {
	all, team := s.budget.used.Add(n), s.team.Add(n)
	if all > s.budget.total || team > s.budget.total/2 {
		s.budget.used.Add(-n)
		s.team.Add(-n)
		return false
	}
	s.held += n
	return true
}

// release gives back all that is held. It may be called more than once.
func (s *share) release() {
	if s.held == 0 {
		return
	}
	s.budget.used.Add(-s.held)
	s.team.Add(-s.held)
	s.held = 0
}
