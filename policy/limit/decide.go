package limit

import "time"

// decide judges a hold against all limits at once. Where several stand in its way, the one that does so longest is
// named: a client that waits for it passes. admit.lua is its twin.
func (s *state) decide(t *terms, h *Hold, waits [rateCount]time.Duration) {
	s.fault = limitNone
	for i, wait := range waits {
		if wait > 0 {
			s.blame(limitRates+i, wait)
		}
	}
	for q, limit := range t.quotas {
		n := h.Amounts[q/2]
		if limit == none || n == 0 || s.used[q]+s.held[q]+n <= limit {
			continue
		}
		wait := s.date.end[q%2].Sub(s.at)
		if s.used[q]+n <= limit {
			wait = holdsWait
		}
		s.blame(limitQuotas+q, wait)
	}
	if h.Task && t.tasks != none && s.tasks >= t.tasks {
		s.blame(limitTasks, holdsWait)
	}
	switch {
	case s.fault == limitNone:
		s.outcome = admitted
	case t.shadow:
		s.outcome = shadowed
	default:
		s.outcome = refused
	}
}

// judge decides a hold by quotas and open tasks alone.
func (s *state) judge(t *terms, h *Hold) Verdict {
	s.decide(t, h, [rateCount]time.Duration{})
	return s.verdict(t, h)
}

func (s *state) blame(limit int, wait time.Duration) {
	if s.fault == limitNone || wait > s.wait {
		s.fault, s.wait = limit, wait
	}
}
