package limit

import "sync"

// PerTeam is something of each team, made at the first use. It grows with the teams file.
type PerTeam[T any] struct {
	First func(team string) *T // makes one; nil: its zero
	of    sync.Map
}

func (p *PerTeam[T]) Get(team string) *T {
	if v, ok := p.of.Load(team); ok {
		return v.(*T)
	}
	made := new(T)
	if p.First != nil {
		made = p.First(team)
	}
	v, _ := p.of.LoadOrStore(team, made)
	return v.(*T)
}

func (p *PerTeam[T]) Each(do func(team string, of *T)) {
	p.of.Range(func(team, v any) bool {
		do(team.(string), v.(*T))
		return true
	})
}
