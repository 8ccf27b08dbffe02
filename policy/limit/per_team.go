package limit

import "sync"

// PerTeam keeps a value for each team, created at the first use. The zero PerTeam is ready for use, and safe for concurrent use.
type PerTeam[T any] struct {
	First func(team string) *T // creates a value; nil: the zero value
	of    sync.Map
}

// Known returns a team's value; nil: it was not used yet.
func (p *PerTeam[T]) Known(team string) *T {
	if v, ok := p.of.Load(team); ok {
		return v.(*T)
	}
	return nil
}

// Get returns a team's value.
func (p *PerTeam[T]) Get(team string) *T {
	if v := p.Known(team); v != nil {
		return v
	}
	made := new(T)
	if p.First != nil {
		made = p.First(team)
	}
	v, _ := p.of.LoadOrStore(team, made)
	return v.(*T)
}

// Each calls a function with each team's value.
func (p *PerTeam[T]) Each(do func(team string, of *T)) {
	p.of.Range(func(team, v any) bool {
		do(team.(string), v.(*T))
		return true
	})
}
