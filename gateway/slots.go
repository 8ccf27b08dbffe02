package gateway

import (
	"sync"
	"sync/atomic"

	"sluice/policy/teams"
)

// slots counts each team's requests in flight. A request keeps its slot until its exchange with the service has ended, even
// if the client has left: the limit is on the work of the service.
type slots struct {
	replicas int // processes that share a team's concurrent requests
	perTeam[slot]
}

// slot counts one team's.
type slot struct {
	used    atomic.Int64
	waiting atomic.Int64  // polls that wait for a change
	reading chan struct{} // has room for the one request that reads the team's ledger
}

func newSlots(replicas int) *slots {
	return &slots{replicas: replicas, perTeam: perTeam[slot]{fresh: func() *slot { return &slot{reading: make(chan struct{}, 1)} }}}
}

// release gives the slot back. A nil slot holds nothing.
func (s *slot) release() {
	if s != nil {
		s.used.Add(-1)
	}
}

// most is this process's share of the requests that a team may have in flight; 0 is any number.
func (s *slots) most(team *teams.Team) int64 {
	return int64(team.Concurrent+s.replicas-1) / int64(s.replicas)
}

// take takes a slot of a team, and reports whether the team may have it. It is nil for a team without a limit. A slot that
// the team may not have MUST be released too.
func (s *slots) take(team *teams.Team) (taken *slot, ok bool) {
	most := s.most(team)
	if most == 0 {
		return nil, true
	}
	taken = s.of(team.ID)
	return taken, taken.used.Add(1) <= most
}

// budget bounds the bytes of all request bodies in memory, and those of one team to half of that, so that a team with large
// uploads leaves room for the others. It counts live bodies, not garbage that the collector has yet to free.
type budget struct {
	total int64
	used  atomic.Int64
	teams perTeam[atomic.Int64] // bytes
}

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

// perTeam keeps one T for each team. It grows with the teams file, not with requests. The zero value is ready.
type perTeam[T any] struct {
	teams sync.Map  // team id → *T
	fresh func() *T // makes a team's T; nil: the zero T is ready
}

func (p *perTeam[T]) of(team string) *T {
	if v, ok := p.teams.Load(team); ok {
		return v.(*T)
	}
	made := new(T)
	if p.fresh != nil {
		made = p.fresh()
	}
	v, _ := p.teams.LoadOrStore(team, made)
	return v.(*T)
}
