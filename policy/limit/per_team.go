package limit

import "sync"

// perTeam is something of each team, made at the first use. It grows with the teams file.
type perTeam[T any] struct {
	first func() *T // makes one; nil: its zero
	of    sync.Map
}

func (p *perTeam[T]) get(team string) *T {
	if v, ok := p.of.Load(team); ok {
		return v.(*T)
	}
	made := new(T)
	if p.first != nil {
		made = p.first()
	}
	v, _ := p.of.LoadOrStore(team, made)
	return v.(*T)
}

func (p *perTeam[T]) each(do func(team string, of *T)) {
	p.of.Range(func(team, v any) bool {
		do(team.(string), v.(*T))
		return true
	})
}
