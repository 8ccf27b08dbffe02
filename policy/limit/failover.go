package limit

import (
	"errors"
	"fmt"
	"time"

	"sluice/policy/teams"
)

// largestImages is the most images that one request makes: no share of a bucket is smaller.
const largestImages = 5

// certain reports whether an error says that Redis has not done what it was asked for.
func certain(err error) bool {
	return errors.Is(err, ErrAway) || errors.Is(err, errNotDone) || errors.Is(err, errRestoring) || errors.Is(err, errForgets)
}

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
	share := t.share(s.Replicas)
	small := *h
	if r := share.rates[Tokens]; r.Limit > 0 { // an estimate is never too large, for a share of the bucket neither
		small.Amounts[Tokens] = min(h.Amounts[Tokens], max(r.Burst/4, 1))
	}
	st := s.lastKnown(h.Team.ID, now)
	b.spentInto(&st)
	covered := l.covers(stockOf(&small.Amounts, h.Task), t, st.date.day, now)
	if !covered {
		if st.decide(t, &small, [rateCount]time.Duration{}); st.outcome == refused { // the limit itself is used up
			return st.verdict(t, &small), nil
		}
		if !t.shadow {
			return Verdict{}, fmt.Errorf("this process's allowance does not suffice, and Redis is away: %w", cause)
		}
	}
	if covered {
		for q := range share.quotas {
			share.quotas[q] = none
		}
		share.tasks = none
	}
	st.rates = s.rates.takeShare(h.Team.ID, &share, &small, &st)
	if v := st.verdict(t, &small); v.Held == nil {
		return v, nil
	}
	if fault, wait := s.rates.takeAccount(&small, false, s.Replicas); wait > 0 {
		v := st.verdict(t, &small)
		s.rates.correct(heldOf(&small, st.date, st.takes(t)), t, s.Replicas, small.Amounts, Amounts{})
		return v.refuseAccount(fault, wait, h), nil
	}
	held := heldOf(&small, st.date, st.takes(t))
	held.Account, held.local = h.Account, true
	st.placed = held
	b.spend(l, &spent{held: held, due: now.Add(h.Lease), byID: byID}, now)
	return st.verdict(t, &small), nil
}

// lastKnown is how a team stands, by what Redis said last.
func (s *Shared) lastKnown(team string, now time.Time) (st state) {
	st.date = s.dated(now)
	st.at = now.Add(time.Duration(s.ahead.Load()))
	st.fault = limitNone
	o := s.Redis.own.get(team)
	o.mu.Lock()
	defer o.mu.Unlock()
	for q := range st.used {
		period := st.date.period(q)
		st.used[q] = o.used[period][q/2]
		if period == o.date.period(q) {
			st.held[q] = o.held[q]
		}
	}
	st.tasks = o.tasks
	return st
}

// counts reports whether something is limited that only a memory can tell.
func (t *terms) counts() bool {
	for _, q := range t.quotas {
		if q != none {
			return true
		}
	}
	return t.tasks != none
}

// takeShare decides a hold by the buckets of this process alone, and takes it from them where it fits.
func (m *Memory) takeShare(team string, share *terms, h *Hold, st *state) (fills [rateCount]fill) {
	a := m.account(team)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.time(m.now)
	a.fit(share, now)
	levels := a.levels(share, now)
	if st.decide(share, h, a.waits(h, share, &levels)); st.outcome == admitted {
		a.take(h, share, &levels, now)
	}
	return a.fills(share, &levels)
}

// missing is what the buckets of a team have less than they hold at most: what was taken longer ago has refilled.
func (m *Memory) missing(team string) (n Amounts) {
	a := m.account(team)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.time(m.now)
	for i, b := range a.buckets {
		if b != nil {
			n[i] = max(b.rate.Burst-b.fill(b.level(now)).left, 0)
		}
	}
	return n
}

// correct brings the buckets that a hold was taken from to what was used, each replica's share of them.
func (m *Memory) correct(h *Held, t *terms, replicas int, held, used Amounts) {
	share := t.share(replicas)
	a := m.account(h.Team)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.time(m.now)
	a.fit(&share, now) // there may be no buckets yet
	a.correct(&share, h.rates, held, used, now)
}

// share is this process's part of a team's rates.
func (t *terms) share(replicas int) terms {
	mine := *t
	for i := range mine.rates {
		mine.rates[i] = shareOf(t.rates[i], int64(replicas))
	}
	return mine
}

// shareOf spreads a rate over its replicas. The period grows rather than that the limit shrinks: 5 per second of three
// replicas is 5 per 3 seconds each.
func shareOf(r teams.Rate, replicas int64) teams.Rate {
	if r.Limit == 0 {
		return r
	}
	least := int64(1)
	if r.Unit == teams.UnitImages {
		least = min(largestImages, r.Burst)
	}
	r.Per *= time.Duration(replicas)
	r.Burst = max(r.Burst/replicas, least)
	return r
}

// debit takes what Redis admitted from the buckets here, too.
func (s *Shared) debit(h *Hold, held *Held, t *terms) {
	s.rates.correct(held, t, s.Replicas, Amounts{}, h.Amounts)
	if len(h.Account) > 0 {
		_, _ = s.rates.takeAccount(h, true, s.Replicas)
	}
}

// correct brings the buckets here to what was used of a hold that was settled.
func (s *Shared) correct(c *Charge) {
	if s.Refuse {
		return
	}
	t := termsOf(c.Team)
	s.rates.correct(c.Held, &t, s.Replicas, c.Held.Amounts, c.Amounts.bound())
	if len(c.Held.Account) > 0 {
		s.rates.correctAccount(c, s.Replicas)
	}
}

// settleHere settles a hold that was placed here and is unknown to Redis, and reports whether it is one.
func (s *Shared) settleHere(c *Charge) bool {
	if !s.teams.get(c.Held.Team).settle(c.Held, c.Amounts.bound()) {
		return false
	}
	s.correct(c)
	s.queue.sum(c)
	c.tell(true)
	return true
}
