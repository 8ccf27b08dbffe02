package limit

import "time"

// bucketsIn returns the buckets of a scope, as full as its current rates have them; nil: it has no rates.
func (a *account) bucketsIn(s *Scope, name string, now time.Time) *buckets {
	if !s.Rated {
		return nil
	}
	b := &a.buckets
	if s.Kind != ScopeTeam {
		of := &a.inside[s.Kind-1]
		if *of == nil {
			*of = map[string]*buckets{}
		}
		if b = (*of)[name]; b == nil {
			b = new(buckets)
			(*of)[name] = b
		}
	}
	b.fit(s, a.dry.Load(), now)
	return b
}

// rated is the buckets of a hold's scopes at one moment.
type rated struct {
	of      [TeamScopes]*buckets // nil: the scope has no rates
	missing [TeamScopes][RateCount]int64
	waits   [TeamScopes][RateCount]time.Duration
}

func (a *account) rated(t *Terms, h *Hold, now time.Time) (r rated) {
	for k := range ScopeKind(TeamScopes) {
		if b := a.bucketsIn(t.Of(k), h.nameIn(k), now); b != nil {
			r.of[k], r.missing[k] = b, b.missing(t.Of(k), now)
			r.waits[k] = b.waits(t.Of(k), &h.Amounts, &r.missing[k])
		}
	}
	return r
}

func (r *rated) take(t *Terms, amounts *Amounts, now time.Time) {
	for k, b := range r.of {
		if b != nil {
			b.take(t.Of(ScopeKind(k)), amounts, &r.missing[k], now)
		}
	}
}

// fill fills in how full the buckets are.
func (r *rated) fill(t *Terms, s *State) {
	for k, b := range r.of {
		if b != nil {
			s.Of(ScopeKind(k)).Rates = b.fills(t.Of(ScopeKind(k)), &r.missing[k])
		}
	}
}

// correct brings the buckets that a hold was taken from, from the amount taken to the amount used.
func (a *account) correct(t *Terms, h *Held, rates RateSet, held, used *Amounts, now time.Time) {
	for k := range ScopeKind(TeamScopes) {
		if b := a.bucketsIn(t.Of(k), h.Inner(k).Name(), now); b != nil {
			b.correct(t.Of(k), rates.Of(k), held, used, now)
		}
	}
}
