package failover

import (
	"fmt"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
)

// admitHere decides a hold that Redis gave no answer to. cause is why.
func (s *Failover) admitHere(b *books, l *loan, h *limit.Hold, t *limit.Terms, cause error) (limit.Verdict, error) {
	doubt := !redisstore.NotDone(cause)
	v, err := s.decideHere(b, l, h, t, cause, doubt)
	if v.Held == nil && doubt { // Redis may hold it, and have taken it from the loan: that is given back once it is settled
		held := limit.HeldOf(h, s.dated(s.Now()), 0)
		held.Local = true
		b.spend(l, &spent{held: held, due: s.Now().Add(h.Lease), byID: true}, s.Now())
		s.queue.keep(job{charge: &limit.Charge{Held: held, Team: h.Team}})
	}
	b.giveUp(l)
	return v, err
}

func (s *Failover) decideHere(b *books, l *loan, h *limit.Hold, t *limit.Terms, cause error, byID bool) (limit.Verdict, error) {
	if s.Refuse {
		return limit.Verdict{}, cause
	}
	now := s.Now()
	small := s.rates.Fit(h, t)
	st := s.lastKnown(h.Team.ID, now)
	b.spentInto(&st)
	covered := l.covers(limit.StockOf(&small.Amounts, h.Task), t, st.Date.Day, now)
	if !covered && !t.Shadow {
		if v := st.Judge(t, &small); v.Held == nil { // the limit itself is used up
			return v, nil
		}
		return limit.Verdict{}, fmt.Errorf("this process's allowance does not suffice, and Redis is away: %w", cause)
	}
	v := s.rates.Admit(h, t, &st, covered)
	if v.Held != nil {
		b.spend(l, &spent{held: v.Held, due: now.Add(h.Lease), byID: byID}, now)
	}
	return v, nil
}

// lastKnown is how a team stands, by what Redis said last.
func (s *Failover) lastKnown(team string, now time.Time) (st limit.State) {
	st.Date = s.dated(now)
	st.At = now.Add(time.Duration(s.ahead.Load()))
	st.Fault = limit.LimitNone
	s.Store.LastKnown(team, &st)
	return st
}

// settleHere settles a hold that was placed here and is unknown to Redis, and reports whether it is one.
func (s *Failover) settleHere(c *limit.Charge) bool {
	if !s.teams.Get(c.Held.Team).settle(c.Held, c.Amounts.Bound()) {
		return false
	}
	if !s.Refuse {
		s.rates.Settle(c)
	}
	s.queue.sum(c)
	c.Tell(true)
	return true
}
