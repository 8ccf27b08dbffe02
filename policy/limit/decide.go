package limit

import "time"

// decide judges a hold against all limits at once. If several refuse, it names the one with the longest wait: a client that waits
// that long passes. admit.lua does the same in Redis.
func (s *State) decide(t *Terms, h *Hold, waits [RateCount]time.Duration) {
	s.Fault = LimitNone
	for i, wait := range waits {
		if wait > 0 {
			s.blame(LimitRates+i, wait)
		}
	}
	for q, limit := range t.Quotas {
		n := h.Amounts[q/2]
		if limit == None || n == 0 || s.Used[q]+s.Held[q]+n <= limit {
			continue
		}
		wait := s.Date.End[q%2].Sub(s.At)
		if s.Used[q]+n <= limit {
			wait = holdsWait
		}
		s.blame(LimitQuotas+q, wait)
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
