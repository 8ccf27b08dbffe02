package gateway

import (
	"sync"
	"sync/atomic"
	"time"

	"sluice/policy/teams"
)

// slots counts each team's requests in flight. A request keeps its slot until its upstream call has ended, also where
// the client has left: what upstream works on is what the limit is for.
type slots struct{ teams sync.Map } // team id → *slot; grows with the teams file

// slot counts one team's.
type slot struct {
	used    atomic.Int64
	waiting atomic.Int64  // its polls that are held
	reading chan struct{} // has room for the one request that is told the team's ledger
}

func (s *slots) of(team string) *slot {
	if v, ok := s.teams.Load(team); ok {
		return v.(*slot)
	}
	v, _ := s.teams.LoadOrStore(team, &slot{reading: make(chan struct{}, 1)})
	return v.(*slot)
}

// release gives the slot back. A request that has none has nil.
func (s *slot) release() {
	if s != nil {
		s.used.Add(-1)
	}
}

// places is this process's share of the requests that a team may have in flight; 0 is any number.
func (g *Gateway) places(team *teams.Team) int64 {
	return int64(team.Concurrent+g.config.Replicas-1) / int64(g.config.Replicas)
}

// takeSlot takes one of the team's places for requests in flight. This process has its share of them.
func (g *Gateway) takeSlot(w *reply, c *call) error {
	most := g.places(c.team)
	if most == 0 {
		return nil
	}
	s := g.slots.of(c.team.ID)
	if s.used.Add(1) <= most {
		c.slot = s
		return nil
	}
	if c.team.Shadow {
		c.slot = s
		w.Header().Set("Sluice-Shadow", refuseConcurrent.name)
		return nil
	}
	s.release()
	return refuse(refuseConcurrent).say("Team %s has %d requests in flight, which is all it may have here.", c.team.ID, most).retry(time.Second)
}
