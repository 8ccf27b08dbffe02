package failover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
	"sluice/policy/price"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// attempt is a hold of a request in one of its accounts, while it is being placed.
type attempt struct {
	redisstore.Placement
	terms *limit.Terms
	books *books
	loan  loan
}

// begin prepares an attempt to place a hold in its account.
func (a *accounts) begin(t *attempt, h *limit.Hold) {
	t.Hold, t.books = h, a.teams.Get(h.Team.ID)
	t.terms = t.books.terms.For(h.Team, h.Key)
}

// lend lends the attempt the part of the day's allowance that it may take.
func (a *accounts) lend(t *attempt) {
	now := a.Now()
	t.loan = t.books.see(t.Hold, price.DayOf(a.ofRedis(now)), now)
	t.Loan = &t.loan.Loan
}

// Admit places a hold in all of its accounts and units, or refuses it and takes nothing. An error means that Redis is away and an
// allowance here is too small.
func (s *Failover) Admit(ctx context.Context, h *limit.Hold) (limit.Verdict, error) {
	if !h.Amounts.Valid() {
		return limit.Verdict{}, limit.ErrAmounts
	}
	own := new(attempt)
	h = h.OnAccount()
	s.begin(own, h)
	if v, never := h.NeverFits(own.terms); never {
		return v, nil
	}
	s.lend(own)
	h.Uncounted(s.seeds.without)
	if others := h.Outer(); others != nil {
		return s.admitAll(ctx, own, others)
	}
	own.Verdict, own.At, own.Err = s.place(ctx, own)
	v, err := s.answer(ctx, own)
	return orOutside(ctx, s, own, v), err
}

// orOutside returns the verdict, or the refusal by a rate outside of the team if that has the longer wait. For this a
// refusal makes a second call; if that fails, the refusal stays as it is.
func orOutside(ctx context.Context, s *Failover, own *attempt, v limit.Verdict) limit.Verdict {
	h := own.Hold
	if v.Held != nil || v.Reason == limit.ReasonNone || v.RefusedOutside() || len(h.Rated()) == 0 {
		return v
	}
	if own.Err != nil {
		fault, wait := s.rates.LookOutside(h, own.terms)
		return v.OrOutside(fault, wait, h)
	}
	call := timedFrom(ctx, s.Timeout)
	defer call.end()
	fault, wait, err := redisstore.LookOutside(call, s.Store, h)
	if err != nil {
		return v
	}
	return v.OrOutside(fault, wait, h)
}

// admitAll places the holds of a request with accounts outside of its team, in all or in none. If one account refuses,
// the holds in the others are given back.
func (s *Failover) admitAll(ctx context.Context, own *attempt, others []limit.Hold) (limit.Verdict, error) {
	h, more := own.Hold, make([]attempt, len(others))
	all := append(make([]*attempt, 0, 2), own)
	for i := range more {
		s.begin(&more[i], &others[i])
		s.lend(&more[i])
		all = append(all, &more[i])
	}
	s.placeAll(ctx, all)
	verdicts, errs := make([]limit.Verdict, 0, 2), error(nil)
	for _, t := range all {
		v, err := s.answer(ctx, t)
		if verdicts = append(verdicts, v); err != nil {
			errs = errors.Join(errs, err)
		}
	}
	v, back := limit.Among(h, verdicts)
	for _, held := range back {
		_, _ = s.Settle(ctx, h.Release(held)) // it is kept and repeated
	}
	if errs != nil && v.Reason == limit.ReasonNone { // none refused, and it is unknown whether all would admit
		return limit.Verdict{}, errs
	}
	return orOutside(ctx, s, own, *v), nil
}

// answer is the verdict of one account, by Redis's reply or without it.
func (s *Failover) answer(ctx context.Context, t *attempt) (limit.Verdict, error) {
	if t.Err != nil {
		return s.admitHere(t.books, &t.loan, t.Hold, t.terms, t.Err)
	}
	now := s.Now()
	s.ahead.Store(int64(t.At.Sub(now)))
	t.books.answered(&t.loan, t.loan.Took, t.Held, now)
	s.addAside(ctx, t.books, &t.Verdict, t.Hold.Team.ID, t.At)
	if t.Owed != nil {
		s.queue.retain(job{charge: t.Owed, tried: now})
	}
	if t.Held != nil && !s.Refuse && t.Held.Document == nil {
		s.rates.Debit(t.Hold, t.Held)
	}
	return t.Verdict, nil
}

// place places a hold in Redis. Each call has its own timeout, so that over a slow network a request can make several.
func (a *accounts) place(ctx context.Context, t *attempt) (v limit.Verdict, at time.Time, err error) {
	if err = a.ready(ctx, t); err != nil {
		return v, at, err
	}
	call := timedFrom(ctx, a.Timeout)
	defer call.end()
	v, at, err = a.Store.Place(call, t.Hold, t.Loan)
	a.observe(err)
	return v, at, err
}

// ready makes sure that Redis may be asked about an account.
func (a *accounts) ready(ctx context.Context, t *attempt) error {
	if a.Timeout <= 0 { // there is no time for a call
		return limit.ErrAway
	}
	if fault := a.Store.MoneyFault(); fault != nil {
		return fault
	}
	return a.ensureListed(context.WithoutCancel(ctx), a.Timeout, t.Hold.Team.ID, t.books)
}

// placeAll places the holds of one request in several accounts in Redis, in one round trip.
func (s *Failover) placeAll(ctx context.Context, all []*attempt) {
	ask := make([]*redisstore.Placement, 0, 2)
	for i, t := range all {
		if first := all[0].Err; s.whole(first) { // it would wait for Redis once more
			t.Err = first
			continue
		}
		if t.Err = s.ready(ctx, t); t.Err == nil && i > 0 {
			t.Err = s.seeded(ctx, t.Hold.Team.ID)
		}
		if t.Err == nil {
			ask = append(ask, &t.Placement)
		}
	}
	if len(ask) == 0 {
		return
	}
	call := timedFrom(ctx, s.Timeout)
	defer call.end()
	s.Store.PlaceAll(call, ask)
	for _, p := range ask {
		s.observe(p.Err)
	}
}

// admitHere decides a hold without Redis; cause is why.
func (s *Failover) admitHere(b *books, l *loan, h *limit.Hold, t *limit.Terms, cause error) (limit.Verdict, error) {
	state := maybeInRedis
	if redisstore.NotDone(cause) {
		state = localOnly
	}
	v, err := s.decideHere(b, l, h, t, cause, state)
	if v.Held == nil && state == maybeInRedis { // Redis may have placed it and used the loan: a settlement gives both back
		date := s.dated(s.Now())
		held := limit.HeldOf(h, t, &date)
		held.Local = true
		b.spend(l, &spent{held: held, due: s.Now().Add(h.Lease), state: maybeInRedis}, s.Now())
		s.queue.retain(job{charge: &limit.Charge{Held: held, Team: h.Team}})
	}
	b.giveUp(l)
	return v, err
}

func (s *Failover) decideHere(b *books, l *loan, h *limit.Hold, t *limit.Terms, cause error, state holdState) (limit.Verdict, error) {
	if s.Refuse || errors.Is(cause, limit.ErrMoney) { // what it charged could never be posted
		return limit.Verdict{}, cause
	}
	if !t.Shadow && t.InnerCounts(&h.Amounts) {
		return limit.Verdict{}, fmt.Errorf("the quotas inside the team are known only in Redis: %w", cause)
	}
	here := t.WithoutInnerQuotas()
	t = &here
	now := s.Now()
	small := s.rates.Fit(h, t)
	st := s.lastKnown(h.Team.ID, now)
	b.spentInto(&st)
	covered := b.covers(l, limit.StockOf(&small.Amounts, h.Task), t, st.Date.Day, now)
	if !t.Shadow && (!covered || l.lowered(t)) {
		if v := st.Judge(t, &small); v.Held == nil { // the quota itself is used up
			return v, nil
		}
		if !covered {
			return limit.Verdict{}, fmt.Errorf("this process's allowance does not suffice without Redis: %w", cause)
		}
	}
	v := s.rates.Admit(h, t, &st, covered)
	if v.Held != nil {
		b.spend(l, &spent{held: v.Held, due: now.Add(h.Lease), state: state}, now)
	}
	return v, nil
}

const (
	// lostAfter is the longest time between two renewals by a live replica, plus some seconds for a slow one.
	lostAfter = renewLeast + renewEvery + 5*time.Second
	// lostEvery is the least time between two calls for what is set aside of a team for lost replicas.
	lostEvery = time.Second
)

// addAside adds to a refusal what is set aside for lost replicas, if that may be the cause. For this a refusal makes
// a second call, at most once a second per team; if that fails, the refusal stays as it is. at is Redis's time.
func (a *accounts) addAside(ctx context.Context, b *books, v *limit.Verdict, team string, at time.Time) {
	held := v.Reason == limit.ReasonQuota && v.Fault.Scope == limit.ScopeTeam && v.Wait < v.Fault.Reset
	if v.Held != nil || !held && v.Reason != limit.ReasonTasks {
		return
	}
	day, of := limit.CalendarOf(at).Day, limit.StockTasks
	if held {
		of = unit.Index(v.Fault.Unit)
	}
	var list []limit.Aside
	for _, row := range a.lostAsides(ctx, b, team, at) {
		ofPeriod := v.Reason == limit.ReasonTasks || row.Day == day || v.Fault.Period == teams.PeriodMonth && row.Day/100 == day/100
		if back := row.Back.Add(sweepEvery).Sub(at); ofPeriod && row.Of[of] > 0 && back > 0 {
			list = append(list, limit.Aside{Amount: row.Of[of], Back: back})
		}
	}
	if len(list) > 0 {
		v.AddAside(list)
	}
}

// lostAsides returns what is set aside of a team for lost replicas, as it was a moment ago.
func (a *accounts) lostAsides(ctx context.Context, b *books, team string, at time.Time) []redisstore.LostAside {
	b.mu.Lock()
	known, fresh := b.lost, at.Sub(b.lostAt) < lostEvery && !at.Before(b.lostAt)
	if !fresh {
		b.lostAt = at // others need not ask meanwhile
	}
	b.mu.Unlock()
	if fresh {
		return known
	}
	call := timedFrom(ctx, a.Timeout)
	defer call.end()
	list, err := a.Store.LostAsides(call, team, at.Add(-lostAfter))
	if err != nil {
		return known
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost = list
	return list
}
