package gateway

import "sync/atomic"

// budget bounds the bytes of all request bodies in memory, and those of one team to half of that, so that a team with large
// uploads leaves room for the others. It counts live bodies, not garbage that the collector has yet to free.
type budget struct {
	total int64
	used  atomic.Int64
	teams perTeam[atomic.Int64] // bytes
}

func newBudget(total int64) *budget { return &budget{total: total} }

// share is the part of the budget that one request holds. The zero share holds nothing.
type share struct {
	budget *budget
	team   *atomic.Int64
	held   int64
}

// share begins a request's share. It holds nothing yet.
func (b *budget) share(team string) share {
	return share{budget: b, team: b.teams.of(team)}
}

// free reports whether another byte could be taken.
func (s *share) free() bool {
	return s.budget.used.Load() < s.budget.total && s.team.Load() < s.budget.total/2
}

// Take adds n bytes to the share, or changes nothing and reports false. It adds first and gives back what is too much, so that
// two requests cannot both see the last bytes free.
func (s *share) Take(n int64) bool {
	all, team := s.budget.used.Add(n), s.team.Add(n)
	if all > s.budget.total || team > s.budget.total/2 {
		s.budget.used.Add(-n)
		s.team.Add(-n)
		return false
	}
	s.held += n
	return true
}

// keep gives back all of the share but n bytes.
func (s *share) keep(n int64) {
	more := s.held - n
	if more <= 0 {
		return
	}
	s.budget.used.Add(-more)
	s.team.Add(-more)
	s.held = n
}

// release gives the share back. It may be called more than once.
func (s *share) release() { s.keep(0) }
