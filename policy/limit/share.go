package limit

import (
	"sync/atomic"
	"time"

	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Shares is one replica's share of all rates, the teams' and the upstream account's, for outages of Redis. Its buckets live as
// long as the process, and are also debited while Redis is available, so that an outage brings no fresh burst.
type Shares struct {
	bank     *Memory
	replicas func() int
}

// NewShares returns the share of one of so many replicas. Until Opened is called new buckets are empty, because the use before this
// process started is unknown.
func NewShares(replicas func() int, now func() time.Time) *Shares {
	r := &Shares{bank: NewMemory(now), replicas: replicas}
	r.bank.dry.Store(true)
	return r
}

// Opened makes buckets that are created from now on full: Redis was reached, and knows what is left.
func (r *Shares) Opened() { r.bank.dry.Store(false) }

// Fit returns the hold with its estimates cut to what a share of the bucket lets pass.
func (r *Shares) Fit(h *Hold, t *Terms) Hold {
	small := *h
	for k := range ScopeKind(TeamScopes) {
		for i, of := range t.Of(k).Rates {
			if rate := shareOf(of, int64(r.replicas())); rate.Limit > 0 && unit.Table[i].Estimated {
				small.Amounts[i] = min(small.Amounts[i], max(rate.Burst/4, 1))
			}
		}
	}
	return small
}

// Admit decides a hold, cut by Fit, by the share of the rates, and takes it from them. The quotas and open tasks of s count unless
// they are covered.
func (r *Shares) Admit(h *Hold, t *Terms, s *State, covered bool) Verdict {
	small, share := r.Fit(h, t), t.share(r.replicas())
	if covered {
		for q := range share.Quotas {
			share.Quotas[q] = None
		}
		share.Tasks = None
	}
	r.bank.teams.Get(h.Team.ID).takeShare(&share, &small, s)
	v := s.Verdict(t, &small)
	if v.Held == nil {
		return v
	}
	if fault, wait := r.bank.outside.take(h.Rated(), &small.Amounts, false, r.replicas()); wait > 0 {
		r.change(v.Held, h.Team, &small.Amounts, &Amounts{})
		return v.RefuseOutside(fault, wait, h)
	}
	v.Held.Outside, v.Held.Local, v.Held.Shared = h.Rated(), true, true
	return v
}

// LookOutside returns the rate outside of the team with the longest wait for a hold; 0: none refuses. It takes nothing.
func (r *Shares) LookOutside(h *Hold, t *Terms) (fault teams.Rate, wait time.Duration) {
	small := r.Fit(h, t)
	return r.bank.outside.look(h.Rated(), &small.Amounts, r.replicas())
}

// Debit takes what Redis admitted from the buckets here, too.
func (r *Shares) Debit(h *Hold, held *Held) {
	r.change(held, h.Team, &Amounts{}, &h.Amounts)
	if rated := h.Rated(); len(rated) > 0 {
		_, _ = r.bank.outside.take(rated, &h.Amounts, true, r.replicas())
	}
}

// Move takes a moving hold from the rates of its new account, and gives back to those of the old one.
func (r *Shares) Move(m *Move) (fault teams.Rate, wait time.Duration) {
	return r.bank.outside.move(m, r.replicas())
}

// Moved repeats in the buckets here a move that Redis made.
func (r *Shares) Moved(m *Move) {
	_, _ = r.bank.outside.take(m.To.Rated(), &m.To.Amounts, true, r.replicas())
	r.bank.outside.correct(&Charge{Held: m.From}, r.replicas())
}

// Settle corrects the buckets here from the amount that was held to the amount that was used.
func (r *Shares) Settle(c *Charge) {
	used := c.Amounts.Bound()
	r.change(c.Held, c.Team, &c.Held.Amounts, &used)
	if len(c.Held.Outside) > 0 {
		r.bank.outside.correct(c, r.replicas())
	}
}

// change corrects the buckets that a hold was taken from, from the amount taken to the amount used. team has the current rates; nil:
// it was removed.
func (r *Shares) change(h *Held, team *teams.Team, held, used *Amounts) {
	a := r.bank.teams.Get(h.Team)
	share := a.terms.share(team, h.Key.Name(), r.replicas())
	a.mu.Lock()
	defer a.mu.Unlock()
	a.correct(share, h, h.Rates, held, used, a.time())
}

// share is one replica's part of the terms' rates.
func (t *Terms) share(replicas int) Terms {
	mine := *t
	for k := range ScopeKind(TeamScopes) {
		if t.Of(k).Rated {
			*mine.Of(k) = t.Of(k).share(replicas)
		}
	}
	return mine
}

// Missing returns how much the buckets of a team, or of one of its parts, lack to be full: older use has been refilled.
func (r *Shares) Missing(team string, k ScopeKind, name string) (n Amounts) {
	a := r.bank.teams.Get(team)
	a.mu.Lock()
	defer a.mu.Unlock()
	of := &a.buckets
	if k != ScopeTeam {
		if of = a.inside[k-1][name]; of == nil {
			return n
		}
	}
	now := a.time()
	for i, b := range of {
		if b != nil {
			n[i] = max(b.rate.Burst-b.fill(b.missing(now)).Left, 0)
		}
	}
	return n
}

// takeShare decides a hold only by the buckets of this process, and takes it from them if it fits.
func (a *account) takeShare(share *Terms, h *Hold, st *State) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.time()
	rates := a.rated(share, h, now)
	if st.decide(share, h, &rates.waits); st.Outcome == Admitted {
		rates.take(share, &h.Amounts, now)
	}
	rates.fill(share, st)
}

// KeptTerms keeps the terms of one team, which are the same for all of its requests by one reading of the teams file. The zero KeptTerms is
// ready for use, and safe for concurrent use.
type KeptTerms struct{ read atomic.Pointer[readTerms] }

// readTerms are the terms of a team as one reading of the teams file has it, and with each of its keys that has limits of its own, with the
// part of the rates that one of the replicas has.
type readTerms struct {
	of       *teams.Team
	replicas int
	team     Terms
	keys     map[string]*Terms
}

// For returns the terms of the team and of one of its keys, by id. They change with a reload, and MUST NOT be changed.
func (k *KeptTerms) For(t *teams.Team, key string) *Terms { return k.share(t, key, 1) }

// share is For, with the part of the rates that one of the replicas has.
func (k *KeptTerms) share(t *teams.Team, key string, replicas int) *Terms {
	r := k.read.Load()
	if r == nil || r.of != t || r.replicas != replicas {
		r = readTermsOf(t, replicas)
		k.read.Store(r)
	}
	if terms := r.keys[key]; terms != nil {
		return terms
	}
	return &r.team
}

// readTermsOf works the terms out, which takes much stack.
func readTermsOf(t *teams.Team, replicas int) *readTerms {
	whole := TermsOf(t)
	r := &readTerms{of: t, replicas: replicas, team: whole.share(replicas), keys: map[string]*Terms{}}
	if t != nil {
		for _, of := range t.CountedKeys() {
			whole = TermsFor(t, of.ID)
			terms := whole.share(replicas)
			r.keys[of.ID] = &terms
		}
	}
	return r
}
