package gateway

import (
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
