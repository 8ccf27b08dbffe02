package limit

import (
	"time"

	"sluice/policy/teams"
	"sluice/policy/unit"
)

// State is a team's state in one form of the store at one moment, with the decision about a hold.
type State struct {
	Outcome Outcome
	At      time.Time // by the store's clock
	Date    Calendar  // of At
	Fault   int       // the limit that refuses, or would in shadow mode; LimitNone: none
	Wait    time.Duration
	Tasks   int64                // open tasks, this one counted
	Balance                      // the team's
	Inner   [InnerScopes]Balance // of the hold's scopes inside the team, by kind, where limits of them are set

	Made *Held // the placed hold; nil: Verdict makes it. Memory puts its own here, so it MUST NOT be changed
}

// Of returns the balance of the scope of a kind.
func (s *State) Of(k ScopeKind) *Balance {
	if k == ScopeTeam {
		return &s.Balance
	}
	return &s.Inner[k-1]
}

// Outcome is the outcome of a call about a hold. The scripts have the same numbers, and some more.
type Outcome int

// The outcomes.
const (
	Refused  Outcome = 0 // nothing was taken
	Admitted Outcome = 1 // held, and taken from the buckets
	Shadowed Outcome = 3 // would be refused: held, but not taken from the buckets
)

// takes names the rates that a hold is taken from.
func (s *State) takes(t *Terms) RateSet {
	if s.Outcome == Admitted {
		return t.RateSet()
	}
	return 0
}

// decide judges a hold by all limits of all scopes. waits are the rates' waiting times. If several limits refuse, it names the one
// with the longest wait; of equal waits the narrowest scope's, and in one scope a rate before a quota. A client that waits that long
// passes. admit.lua does the same in Redis.
func (s *State) decide(t *Terms, h *Hold, waits *[TeamScopes][RateCount]time.Duration) {
	s.Fault = LimitNone
	for k := ScopeKind(TeamScopes) - 1; k >= ScopeTeam; k-- {
		for i, wait := range waits[k] {
			if wait > 0 {
				s.blame(k.Number(i), wait)
			}
		}
		if t.Of(k).Quoted {
			s.decideQuotas(k, t.Of(k), h)
		}
	}
	if h.Task && t.Tasks != None && s.Tasks >= t.Tasks {
		s.blame(LimitTasks, holdsWait)
	}
	switch {
	case s.Fault == LimitNone:
		s.Outcome = Admitted
	case t.Shadow:
		s.Outcome = Shadowed
	default:
		s.Outcome = Refused
	}
}

// decideQuotas judges a hold by the quotas of one scope.
func (s *State) decideQuotas(k ScopeKind, scope *Scope, h *Hold) {
	taken := s.Of(k)
	for q, limit := range scope.Quotas {
		n := h.Amounts[q/2]
		if limit == None || n == 0 || taken.Used[q]+taken.Held[q]+n <= limit {
			continue
		}
		wait := s.Date.End[q%2].Sub(s.At)
		if taken.Used[q]+n <= limit {
			wait = holdsWait
		}
		s.blame(k.Number(LimitQuotas+q), wait)
	}
}

func (s *State) blame(limit int, wait time.Duration) {
	if s.Fault == LimitNone || wait > s.Wait {
		s.Fault, s.Wait = limit, wait
	}
}

// Judge decides a hold only by quotas and open tasks.
func (s *State) Judge(t *Terms, h *Hold) Verdict {
	s.decide(t, h, &[TeamScopes][RateCount]time.Duration{})
	return s.Verdict(t, h)
}

// NeverFits is the refusal of a request that can never fit, however long the client waits: it asks for more images than a bucket holds
// or a quota allows, or for images that cost more. Tokens are estimates, and an estimate is never too large. It does not read the
// accounts.
func (h *Hold) NeverFits(t *Terms) (Verdict, bool) {
	if !h.Amounts.Make() {
		return Verdict{}, false
	}
	for k := ScopeKind(TeamScopes) - 1; k >= ScopeTeam; k-- {
		if scope := t.Of(k); scope.Set && !t.Shadow {
			if fault, never := h.neverOf(scope); never {
				return h.never(fault), true
			}
		}
	}
	return h.neverOutside(ScopeAccount, ScopeHouse)
}

// neverOutside is NeverFits for the kinds of scopes outside of the team, from one to another.
func (h *Hold) neverOutside(from, to ScopeKind) (Verdict, bool) {
	for i := range h.Outside {
		if k := h.Outside[i].Kind; k < from || k > to {
			continue
		}
		if fault, never := h.neverOf(&h.Outside[i]); never {
			return h.never(fault), true
		}
	}
	return Verdict{}, false
}

func (h *Hold) never(fault Standing) Verdict {
	return Verdict{Reason: ReasonNever, Fault: fault, Asked: h.exact(unit.Index(fault.Unit))}
}

// neverOf is NeverFits for a scope, of a request that makes something.
func (h *Hold) neverOf(s *Scope) (fault Standing, ok bool) {
	for u := range s.Rates {
		if r := &s.Rates[u]; r.Limit > 0 && h.exact(u) > r.Burst {
			return Standing{Unit: r.Unit, Per: r.PerText, Limit: r.Burst, Window: r.Per, Scope: s.Kind, Of: h.nameIn(s.Kind)}, true
		}
	}
	for q, limit := range s.Quotas {
		if u := q / 2; limit != None && h.exact(u) > limit {
			period := teams.Periods[q%2]
			return Standing{Unit: unit.Names[u], Period: period, Per: string(period), Limit: limit, Scope: s.Kind, Of: h.nameIn(s.Kind)}, true
		}
	}
	return Standing{}, false
}
