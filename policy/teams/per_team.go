package teams

import (
	"maps"
	"sync"
	"sync/atomic"
)

// PerTeam keeps a value for each team, created at the first use. The zero PerTeam is ready for use, and safe for concurrent use.
type PerTeam[T any] struct {
	First func(team string) *T // creates a value; nil: the zero value

	of     atomic.Pointer[map[string]*T] // replaced by a copy when a team is added: a request looks up its team many times
	adding sync.Mutex
}

// Known returns a team's value; nil: it was not used yet.
func (p *PerTeam[T]) Known(team string) *T {
	if all := p.of.Load(); all != nil {
		return (*all)[team]
	}
	return nil
}

// Get returns a team's value.
func (p *PerTeam[T]) Get(team string) *T {
	if v := p.Known(team); v != nil {
		return v
	}
	p.adding.Lock()
	defer p.adding.Unlock()
	if v := p.Known(team); v != nil {
		return v
	}
	made := new(T)
	if p.First != nil {
		made = p.First(team)
	}
	all := map[string]*T{}
	if before := p.of.Load(); before != nil {
		all = maps.Clone(*before)
	}
	all[team] = made
	p.of.Store(&all)
	return made
}

// Each calls a function with each team's value.
func (p *PerTeam[T]) Each(do func(team string, of *T)) {
	if all := p.of.Load(); all != nil {
		for team, v := range *all {
			do(team, v)
		}
	}
}
