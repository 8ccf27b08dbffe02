package gateway

import (
	"sync/atomic"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// loads counts what each team has under way in this process, and bounds the bytes of all request bodies in memory, and those of
// one team to half of that, so that a team with large uploads leaves room for the others. It counts live bodies, not garbage that
// the collector has yet to free.
type loads struct {
	replicas int   // processes that share a team's concurrent requests
	budget   int64 // bytes of all bodies
	bytes    atomic.Int64
	limit.PerTeam[load]
}

// load is what one team has under way.
type load struct {
	requests atomic.Int64  // in flight, if the team has a limit on them
	waiting  atomic.Int64  // polls that wait for a change
	bytes    atomic.Int64  // of bodies
	reading  chan struct{} // has room for the one request that reads the team's ledger
}

func newLoads(config *Config) *loads {
	first := func(string) *load { return &load{reading: make(chan struct{}, 1)} }
	return &loads{replicas: config.Replicas, budget: config.BodyBudget, PerTeam: limit.PerTeam[load]{First: first}}
}

// most is this process's share of the requests that a team may have in flight; 0: no limit.
func (l *loads) most(team *teams.Team) int64 {
	return int64(team.Concurrent+l.replicas-1) / int64(l.replicas)
}

// share is one request's part of its team's load. The zero share is empty.
type share struct {
	all  *loads
	team *load
	slot bool  // it is one of the requests in flight
	held int64 // bytes of its body
}

// share begins a request's share, which is empty.
func (l *loads) share(team string) share { return share{all: l, team: l.Get(team)} }

// takeSlot makes the request one of those in flight, until its exchange with the service has ended, even if the client has left:
// the limit is on the work of the service. It reports whether the team may have it; a refused slot also counts until it is left.
func (s *share) takeSlot(team *teams.Team) bool {
	most := s.all.most(team)
	if most == 0 {
		return true
	}
	s.slot = true
	return s.team.requests.Add(1) <= most
}

func (s *share) leaveSlot() {
	if s.slot {
		s.team.requests.Add(-1)
		s.slot = false
	}
}

// free reports whether another byte could be taken.
func (s *share) free() bool {
	return s.all.bytes.Load() < s.all.budget && s.team.bytes.Load() < s.all.budget/2
}

// Take adds n bytes to the share, or changes nothing and reports false. It adds first and gives back what is too much, so that
// two requests cannot both see the last bytes free.
func (s *share) Take(n int64) bool {
	all, team := s.all.bytes.Add(n), s.team.bytes.Add(n)
	if all > s.all.budget || team > s.all.budget/2 {
		s.all.bytes.Add(-n)
		s.team.bytes.Add(-n)
		return false
	}
	s.held += n
	return true
}

// keep gives back all bytes of the share but n. It may be called more than once.
func (s *share) keep(n int64) {
	more := s.held - n
	if more <= 0 {
		return
	}
	s.all.bytes.Add(-more)
	s.team.bytes.Add(-more)
	s.held = n
}
