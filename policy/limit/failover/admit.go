package failover

import (
	"context"
	"fmt"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
)

// Admit places a hold in all of its units at once, or refuses it and takes nothing. An error means that Redis is away and
// the team's allowance here is too small.
func (s *Failover) Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error) {
	if !h.Amounts.Valid() {
		return limit.Verdict{}, limit.ErrAmounts
	}
	t := limit.TermsOf(h.Team)
	if v, never := h.NeverFits(&t); never {
		return v, nil
	}
	b, now := s.teams.Get(h.Team.ID), s.Now()
	date := s.dated(now)
	l := b.see(h, date.Day, now)
	call := within(ctx, s.Timeout)
	defer call.end()
	var v limit.Verdict
	var at time.Time
	err, shared := limit.ErrAway, !s.isRestored(b)
	if call.Err() == nil { // else there is no time for a call
		err = s.ensureRestored(call, h.Team.ID, b)
	}
	if err == nil {
		v, at, err = s.Store.Place(call, h, &l.Loan)
		if err == nil || !shared || call.Err() == nil { // else an earlier call had used up its time, which says nothing about Redis
			s.heard(err)
		}
	}
	if err != nil {
		return s.admitHere(b, &l, h, &t, err)
	}
	now = s.Now()
	s.ahead.Store(int64(at.Sub(now)))
	b.answered(&l, l.Took, v.Held, now)
	if v.Owed != nil {
		s.queue.retain(job{charge: v.Owed, tried: now})
	}
	if v.Held != nil && !s.Refuse {
		s.rates.Debit(h, v.Held, &t)
	}
	return v, nil
}

// admitHere decides a hold without Redis; cause is why.
func (s *Failover) admitHere(b *books, l *loan, h *limit.Hold, t *limit.Terms, cause error) (limit.Verdict, error) {
	state := maybeInRedis
	if redisstore.NotDone(cause) {
		state = localOnly
	}
	v, err := s.decideHere(b, l, h, t, cause, state)
	if v.Held == nil && state == maybeInRedis { // Redis may hold it and have taken it from the loan: a settlement gives both back
		held := limit.HeldOf(h, s.dated(s.Now()), 0)
		held.Local = true
		b.spend(l, &spent{held: held, due: s.Now().Add(h.Lease), state: maybeInRedis}, s.Now())
		s.queue.retain(job{charge: &limit.Charge{Held: held, Team: h.Team}})
	}
	b.giveUp(l)
	return v, err
}

func (s *Failover) decideHere(b *books, l *loan, h *limit.Hold, t *limit.Terms, cause error, state holdState) (limit.Verdict, error) {
	if s.Refuse {
		return limit.Verdict{}, cause
	}
	if t.ByTag {
		if !t.Shadow && t.TagCounts(&h.Amounts) {
			return limit.Verdict{}, fmt.Errorf("the quotas of each value of the tag are known in Redis alone: %w", cause)
		}
		here := *t
		here.ByTag, t = false, &here
	}
	now := s.Now()
	small := s.rates.Fit(h, t)
	st := s.lastKnown(h.Team.ID, now)
	b.spentInto(&st)
	covered := b.covers(l, limit.StockOf(&small.Amounts, h.Task), t, st.Date.Day, now)
	if !covered && !t.Shadow {
		if v := st.Judge(t, &small); v.Held == nil { // the quota itself is used up
			return v, nil
		}
		return limit.Verdict{}, fmt.Errorf("this process's allowance does not suffice without Redis: %w", cause)
	}
	v := s.rates.Admit(h, t, &st, covered)
	if v.Held != nil {
		b.spend(l, &spent{held: v.Held, due: now.Add(h.Lease), state: state}, now)
	}
	return v, nil
}
