package failover

import (
	"context"
	"fmt"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
)

// Admit places a hold in all of its units, or refuses it and takes nothing. An error means that Redis is away and the team's
// allowance here is too small.
func (s *Failover) Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error) {
	if !h.Amounts.Valid() {
		return limit.Verdict{}, limit.ErrAmounts
	}
	t := h.Terms()
	if v, never := h.NeverFits(&t); never {
		return v, nil
	}
	b, now := s.teams.Get(h.Team.ID), s.Now()
	date := s.dated(now)
	l := b.see(h, date.Day, now)
	v, at, err := s.place(ctx, h, &l, b)
	if err != nil {
		return s.admitHere(b, &l, h, &t, err)
	}
	now = s.Now()
	s.ahead.Store(int64(at.Sub(now)))
	b.answered(&l, l.Took, v.Held, now)
	s.tellAside(ctx, b, &v, h.Team.ID, at)
	if v.Owed != nil {
		s.queue.retain(job{charge: v.Owed, tried: now})
	}
	if v.Held != nil && !s.Refuse {
		s.rates.Debit(h, v.Held, &t)
	}
	return v, nil
}

// place asks Redis. Each call has its own timeout, so that over a slow network a request can make several.
func (a *accounts) place(ctx context.Context, h *limit.Hold, l *loan, b *books) (v limit.Verdict, at time.Time, err error) {
	if a.Timeout <= 0 { // there is no time for a call
		return v, at, limit.ErrAway
	}
	if err = a.ensureRestored(context.WithoutCancel(ctx), a.Timeout, h.Team.ID, b); err != nil {
		return v, at, err
	}
	call := timedFrom(ctx, a.Timeout)
	defer call.end()
	v, at, err = a.Store.Place(call, h, &l.Loan)
	a.heard(err)
	return v, at, err
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
	if !t.Shadow && t.InnerCounts(&h.Amounts) {
		return limit.Verdict{}, fmt.Errorf("the quotas inside the team are known in Redis alone: %w", cause)
	}
	here := t.WithoutInnerQuotas()
	t = &here
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
