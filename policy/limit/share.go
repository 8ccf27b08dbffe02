package limit

import (
	"time"

	"sluice/policy/teams"
)

// shares is one replica's share of all rates, the teams' and the upstream account's, while Redis does not tell. Its buckets
// live as long as the process and are debited all the while, so that an outage is no fresh burst.
type shares struct {
	bank     *Memory
	replicas int
}

// newShares returns the share of one of so many replicas. Buckets are empty at first until opened is called: nobody knows what
// was spent before this process began.
func newShares(replicas int, now func() time.Time) *shares {
	r := &shares{bank: NewMemory(now), replicas: replicas}
	r.bank.dry.Store(true)
	return r
}

// opened has buckets that are new from now on be full: Redis was seen, and told what is left.
func (r *shares) opened() { r.bank.dry.Store(false) }

// fit is a hold with no larger an estimate of tokens than a share of the bucket lets pass.
func (r *shares) fit(h *Hold, t *terms) Hold {
	small := *h
	if rate := shareOf(t.rates[Tokens], int64(r.replicas)); rate.Limit > 0 {
		small.Amounts[Tokens] = min(h.Amounts[Tokens], max(rate.Burst/4, 1))
	}
	return small
}

// admit decides a hold, cut by fit, by the share of the rates, and takes it from them. What s says of quotas and open tasks
// counts unless they are covered.
func (r *shares) admit(h *Hold, t *terms, s *state, covered bool) Verdict {
	small, share := r.fit(h, t), t.share(r.replicas)
	if covered {
		for q := range share.quotas {
			share.quotas[q] = none
		}
		share.tasks = none
	}
	s.rates = r.bank.takeShare(h.Team.ID, &share, &small, s)
	v := s.verdict(t, &small)
	if v.Held == nil {
		return v
	}
	if fault, wait := r.bank.takeAccount(&small, false, r.replicas); wait > 0 {
		r.change(v.Held, t, small.Amounts, Amounts{})
		return v.refuseAccount(fault, wait, h)
	}
	v.Held.Account, v.Held.local = h.Account, true
	return v
}

// debit takes what Redis admitted from the buckets here, too.
func (r *shares) debit(h *Hold, held *Held, t *terms) {
	r.change(held, t, Amounts{}, h.Amounts)
	if len(h.Account) > 0 {
		_, _ = r.bank.takeAccount(h, true, r.replicas)
	}
}

// settle brings the buckets here to what was used of a hold.
func (r *shares) settle(c *Charge) {
	t := termsOf(c.Team)
	r.change(c.Held, &t, c.Held.Amounts, c.Amounts.bound())
	if len(c.Held.Account) > 0 {
		r.bank.correctAccount(c, r.replicas)
	}
}

// change brings the buckets that a hold was taken from, from what was taken to what was used.
func (r *shares) change(h *Held, t *terms, held, used Amounts) {
	share := t.share(r.replicas)
	a := r.bank.account(h.Team)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.time(r.bank.now)
	a.fit(&share, now) // there may be no buckets yet
	a.correct(&share, h.rates, held, used, now)
}

// missing is what the buckets of a team have less than they hold at most: what was taken longer ago has refilled.
func (r *shares) missing(team string) (n Amounts) {
	a := r.bank.account(team)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.time(r.bank.now)
	for i, b := range a.buckets {
		if b != nil {
			n[i] = max(b.rate.Burst-b.fill(b.level(now)).left, 0)
		}
	}
	return n
}

// largestImages is the most images that one request makes: no share of a bucket is smaller.
const largestImages = 5

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
