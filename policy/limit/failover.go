package limit

import (
	"fmt"
	"time"
)

// admitHere decides a hold that Redis gave no answer to. cause is why.
func (s *Shared) admitHere(b *books, l *loan, h *Hold, t *terms, cause error) (Verdict, error) {
	doubt := !certain(cause)
	v, err := s.decideHere(b, l, h, t, cause, doubt)
	if v.Held == nil && doubt { // Redis may hold it, and have taken it from the loan: that is given back once it is settled
		held := heldOf(h, s.dated(s.Now()), 0)
		held.local = true
		b.spend(l, &spent{held: held, due: s.Now().Add(h.Lease), byID: true}, s.Now())
		s.queue.keep(job{charge: &Charge{Held: held, Team: h.Team}})
	}
	b.giveUp(l)
	return v, err
}

func (s *Shared) decideHere(b *books, l *loan, h *Hold, t *terms, cause error, byID bool) (Verdict, error) {
	if s.Refuse {
		return Verdict{}, cause
	}
	now := s.Now()
	small := s.rates.fit(h, t)
	st := s.lastKnown(h.Team.ID, now)
	b.spentInto(&st)
	covered := l.covers(stockOf(&small.Amounts, h.Task), t, st.date.day, now)
	if !covered && !t.shadow {
		if v := st.judge(t, &small); v.Held == nil { // the limit itself is used up
			return v, nil
		}
		return Verdict{}, fmt.Errorf("this process's allowance does not suffice, and Redis is away: %w", cause)
	}
	v := s.rates.admit(h, t, &st, covered)
	if v.Held != nil {
		b.spend(l, &spent{held: v.Held, due: now.Add(h.Lease), byID: byID}, now)
	}
	return v, nil
}

// lastKnown is how a team stands, by what Redis said last.
func (s *Shared) lastKnown(team string, now time.Time) (st state) {
	st.date = s.dated(now)
	st.at = now.Add(time.Duration(s.ahead.Load()))
	st.fault = limitNone
	s.Redis.lastKnown(team, &st)
	return st
}

// settleHere settles a hold that was placed here and is unknown to Redis, and reports whether it is one.
func (s *Shared) settleHere(c *Charge) bool {
	if !s.teams.get(c.Held.Team).settle(c.Held, c.Amounts.bound()) {
		return false
	}
	if !s.Refuse {
		s.rates.settle(c)
	}
	s.queue.sum(c)
	c.tell(true)
	return true
}
