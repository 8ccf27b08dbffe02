package limit

import (
	"time"

	"sluice/policy/teams"
)

// State is a team's state in one form of the store at one moment, with the decision about a hold.
type State struct {
	Outcome Outcome
	At      time.Time // by the store's clock
	Date    Calendar  // of At
	Fault   int       // the limit that refuses, or would in shadow mode; LimitNone: none
	Wait    time.Duration
	Tasks   int64             // open tasks, this one counted
	Used    [QuotaCount]int64 // by quota number
	Held    [QuotaCount]int64 // by quota number, this request's included; allowances are not
	Rates   [RateCount]Fill

	TagUsed, TagHeld [QuotaCount]int64 // the same of the hold's value of the tag, where a quota of each value is set
	TagOther         bool              // that value is counted as one of the others

	placed *Held // the hold in memory, which never changes there
}

// Fill is how full a bucket is.
type Fill struct {
	Left int64         // whole units that would fit now; negative in debt
	Full time.Duration // until it is full
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

// decide judges a hold against all limits at once. If several refuse, it names the one with the longest wait: a client that waits
// that long passes. admit.lua does the same in Redis.
func (s *State) decide(t *Terms, h *Hold, waits [RateCount]time.Duration) {
	s.Fault = LimitNone
	for i, wait := range waits {
		if wait > 0 {
			s.blame(LimitRates+i, wait)
		}
	}
	s.decideQuotas(LimitQuotas, &t.Quotas, h, &s.Used, &s.Held)
	if t.ByTag {
		s.decideQuotas(LimitTags, &t.TagQuotas, h, &s.TagUsed, &s.TagHeld)
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

// decideQuotas judges a hold against quotas, numbered from first, of which so much is used and held.
func (s *State) decideQuotas(first int, quotas *[QuotaCount]int64, h *Hold, used, held *[QuotaCount]int64) {
	for q, limit := range quotas {
		n := h.Amounts[q/2]
		if limit == None || n == 0 || used[q]+held[q]+n <= limit {
			continue
		}
		wait := s.Date.End[q%2].Sub(s.At)
		if used[q]+n <= limit {
			wait = holdsWait
		}
		s.blame(first+q, wait)
	}
}

// Judge decides a hold by quotas and open tasks alone.
func (s *State) Judge(t *Terms, h *Hold) Verdict {
	s.decide(t, h, [RateCount]time.Duration{})
	return s.Verdict(t, h)
}

func (s *State) blame(limit int, wait time.Duration) {
	if s.Fault == LimitNone || wait > s.Wait {
		s.Fault, s.Wait = limit, wait
	}
}

// NeverFits is the refusal of what can never fit. It needs no look at the accounts.
func (h *Hold) NeverFits(t *Terms) (Verdict, bool) {
	fault, never := h.never(t)
	if !never {
		return Verdict{}, false
	}
	return Verdict{Reason: ReasonNever, Fault: fault, Asked: h.asked(&fault)}, true
}

// never reports whether an exact cost can never fit, however long the client waits: more images than a bucket holds or
// a quota allows, or, for images, more money. Tokens are estimates, and an estimate is never too large.
func (h *Hold) never(t *Terms) (fault Standing, ok bool) {
	for _, a := range h.Account {
		for _, r := range a.Rates {
			if r.Unit == teams.UnitImages && h.Amounts[Images] > r.Burst {
				return Standing{Unit: r.Unit, Per: r.PerText, Limit: r.Burst, Window: r.Per}, true
			}
		}
	}
	if h.Amounts[Images] == 0 || t.Shadow {
		return Standing{}, false
	}
	if r := t.Rates[Images]; r.Limit > 0 && h.Amounts[Images] > r.Burst {
		return Standing{Unit: r.Unit, Per: r.PerText, Limit: r.Burst, Window: r.Per}, true
	}
	if fault, never := h.neverOf(&t.Quotas); never {
		return fault, true
	}
	if t.ByTag {
		if fault, never := h.neverOf(&t.TagQuotas); never {
			return fault.by(h.AsTag()), true
		}
	}
	return Standing{}, false
}

// neverOf is never for quotas.
func (h *Hold) neverOf(quotas *[QuotaCount]int64) (fault Standing, ok bool) {
	for q, limit := range quotas {
		if unit := q / 2; (unit == Images || unit == Spend) && limit != None && h.Amounts[unit] > limit {
			period := teams.Periods[q%2]
			return Standing{Unit: teams.Units[unit], Period: period, Per: string(period), Limit: limit}, true
		}
	}
	return Standing{}, false
}
