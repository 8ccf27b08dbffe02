package registry

import (
	"sync"
	"time"
)

// What the members of one team may change together at one replica within a window. Each change is kept in the audit for 400 days, a
// change of keys with all keys of the team before and after.
const (
	paceWindow = 10 * time.Minute
	paceMost   = 300
	costCancel = 1
	costKeys   = 10
)

// pace counts what members change, by team.
type pace struct {
	mu    sync.Mutex
	teams map[string]*paced
}

type paced struct {
	used int
	ends time.Time
}

// takes reports whether the members of a team may still make a change of that cost, and counts it.
func (p *pace) takes(team string, cost int, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.teams[team]
	if t == nil || !now.Before(t.ends) {
		if p.teams == nil {
			p.teams = map[string]*paced{}
		}
		t = &paced{ends: now.Add(paceWindow)}
		p.teams[team] = t // teams are few
	}
	if t.used+cost > paceMost {
		return false
	}
	t.used += cost
	return true
}

// paced refuses a change of a member that is too many. The person may make it otherwise.
func (r *Registry) paced(a Actor, team string, cost int) error {
	if a.Changes() || r.pace.takes(team, cost, r.Now()) {
		return nil
	}
	return errOften
}
