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
// is not collected yet. It is safe for concurrent use.
type Loads struct {
	*limit.Fleet       // divides the limits on requests in flight among the replicas
	budget       int64 // bytes of all bodies
	bytes        atomic.Int64
	teams        teams.PerTeam[Load]
}

// Load is what one team has under way.
type Load struct {
	Waiting atomic.Int64  // polls that wait for a change
	Reading chan struct{} // has room for the one request that reads the team's ledger
	bytes   atomic.Int64  // of bodies
}

// New returns empty loads of one of the fleet's replicas, with a budget in bytes.
func New(fleet *limit.Fleet, budget int64) *Loads {
	first := func(string) *Load { return &Load{Reading: make(chan struct{}, 1)} }
	return &Loads{Fleet: fleet, budget: budget, teams: teams.PerTeam[Load]{First: first}}
}

// Of is the load of a team.
func (l *Loads) Of(team string) *Load { return l.teams.Get(team) }

// Bytes is the size of all bodies in memory.
func (l *Loads) Bytes() int64 { return l.bytes.Load() }

// InFlight is how many requests of a team with a limit on them are in flight here, and how many may be; 0: no limit.
func (l *Loads) InFlight(team *teams.Team) (used, most int64) {
	return l.Flying(limit.ScopeTeam, team.ID), l.Most(limit.ScopeTeam, team.ID, team.Concurrent)
}

// Share is one request's part of its team's load. The zero Share is empty.
type Share struct {
	all  *Loads
	team *Load
	slot *limit.Slots // of the team; nil: it does not count among the requests in flight
	key  *limit.Slots // of its key, as above
	held int64        // bytes of its body
	lack int64        // bytes that it asked for last, and did not get
}

// Share begins a request's share, which is empty.
func (l *Loads) Share(team string) Share { return Share{all: l, team: l.Of(team)} }

// TakeSlot makes the request one of those in flight, until its exchange with the service has ended, even if the client has left: the limit
// is on the work of the service. It reports whether team and key may have the slot, and if not, the narrowest limit that refuses. A team in
// shadow mode gets the slot anyway.
func (s *Share) TakeSlot(team *teams.Team, key string, limits *teams.KeyLimits) (full limit.ScopeKind, ok bool) {
	var inKey bool
	s.slot, ok = s.all.Take(limit.ScopeTeam, team.ID, team.Concurrent, team.Shadow)
	if s.key, inKey = s.all.Take(limit.ScopeKey, key, limits.Concurrent, team.Shadow); !inKey {
		return limit.ScopeKey, false
	}
	return limit.ScopeTeam, ok
}

// LeaveSlot gives the slot back. It may be called more than once.
func (s *Share) LeaveSlot() {
	for _, of := range [...]**limit.Slots{&s.slot, &s.key} {
		if *of != nil {
			(*of).Leave()
			*of = nil
		}
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
		s.lack = n
		return false
	}
	s.held += n
	return true
}

// Lacks returns how many bytes the share would have with those that Take refused last, and the most that all of its team's may have.
func (s *Share) Lacks() (all, most int64) { return s.held + s.lack, s.all.budget / 2 }

// Keep gives back all bytes of the share except n. It may be called more than once.
func (s *Share) Keep(n int64) {
	more := s.held - n
	if more <= 0 {
		return
	}
	s.all.bytes.Add(-more)
	s.team.bytes.Add(-more)
	s.held = n
}
