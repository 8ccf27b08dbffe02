package gateway

import "sync"

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
