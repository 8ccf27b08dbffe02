// Package loads counts what each team and key has under way in this process, and bounds it: requests in flight, and the bytes of bodies
// in memory. It promises that everything is given back, whatever becomes of a request. It does no I/O.
package loads

import (
	"sync/atomic"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Loads counts what each team has under way in this process, and bounds the bytes of all request bodies in memory, and those of
// one team to half of that, so that a team with large uploads leaves room for the others. It counts live bodies, not garbage that
// the collector has yet to free. It is safe for concurrent use.
type Loads struct {
	replicas int   // processes that share a team's concurrent requests
	budget   int64 // bytes of all bodies
	bytes    atomic.Int64
	teams    limit.PerTeam[Load]
	keys     limit.PerTeam[atomic.Int64] // requests in flight with a key that has a limit on them, by its id
}

// Load is what one team has under way.
type Load struct {
	Requests atomic.Int64  // in flight, if the team has a limit on them
	Waiting  atomic.Int64  // polls that wait for a change
	Reading  chan struct{} // has room for the one request that reads the team's ledger
	bytes    atomic.Int64  // of bodies
}

// New returns empty loads of one of the replicas, with a budget in bytes.
func New(replicas int, budget int64) *Loads {
	first := func(string) *Load { return &Load{Reading: make(chan struct{}, 1)} }
	return &Loads{replicas: replicas, budget: budget, teams: limit.PerTeam[Load]{First: first}}
}

// Of is the load of a team.
func (l *Loads) Of(team string) *Load { return l.teams.Get(team) }

// Bytes are those of all bodies in memory.
func (l *Loads) Bytes() int64 { return l.bytes.Load() }

// Most is this process's share of the requests that a team or key may have in flight, of all replicas' concurrent ones; 0: no limit.
func (l *Loads) Most(concurrent int) int64 {
	return int64(concurrent+l.replicas-1) / int64(l.replicas)
}

// Share is one request's part of its team's load. The zero Share is empty.
type Share struct {
	all  *Loads
	team *Load
	slot bool          // it is one of the team's requests in flight
	key  *atomic.Int64 // the requests in flight with its key, of which it is one; nil: it is none of them
	held int64         // bytes of its body
}

// Share begins a request's share, which is empty.
func (l *Loads) Share(team string) Share { return Share{all: l, team: l.Of(team)} }

// TakeSlot makes the request one of those in flight, until its exchange with the service has ended, even if the client has left:
// the limit is on the work of the service. It reports whether team and key may have it, and if not whose limit refuses, the narrowest; a
// refused slot also counts until it is left.
func (s *Share) TakeSlot(team *teams.Team, key string, limits *teams.KeyLimits) (full limit.ScopeKind, ok bool) {
	ok = true
	if most := s.all.Most(team.Concurrent); most > 0 {
		s.slot = true
		ok = s.team.Requests.Add(1) <= most
	}
	if most := s.all.Most(limits.Concurrent); most > 0 {
		s.key = s.all.keys.Get(key)
		if s.key.Add(1) > most {
			return limit.ScopeKey, false
		}
	}
	return limit.ScopeTeam, ok
}

// LeaveSlot ends it. It may be called more than once.
func (s *Share) LeaveSlot() {
	if s.slot {
		s.team.Requests.Add(-1)
		s.slot = false
	}
	if s.key != nil {
		s.key.Add(-1)
		s.key = nil
	}
}

// Free reports whether another byte could be taken.
func (s *Share) Free() bool {
	return s.all.bytes.Load() < s.all.budget && s.team.bytes.Load() < s.all.budget/2
}

// Take adds n bytes to the share, or changes nothing and reports false. It adds first and gives back what is too much, so that
// two requests cannot both see the last bytes free.
func (s *Share) Take(n int64) bool {
	all, team := s.all.bytes.Add(n), s.team.bytes.Add(n)
	if all > s.all.budget || team > s.all.budget/2 {
		s.all.bytes.Add(-n)
		s.team.bytes.Add(-n)
		return false
	}
	s.held += n
	return true
}

// Keep gives back all bytes of the share but n. It may be called more than once.
func (s *Share) Keep(n int64) {
	more := s.held - n
	if more <= 0 {
		return
	}
	s.all.bytes.Add(-more)
	s.team.bytes.Add(-more)
	s.held = n
}
