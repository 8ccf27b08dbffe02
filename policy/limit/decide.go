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
