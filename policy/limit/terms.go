package limit

import (
	"sync/atomic"
	"time"

	"sluice/policy/teams"
)

// The limits of a scope are numbered: the rates, one for each unit, then the quotas, day and month of each unit, then open_tasks, which
// only a team has. Those of the scopes inside the team follow, in the order of their kinds.
const (
	LimitQuotas = RateCount
	LimitTasks  = LimitQuotas + QuotaCount
	LimitNone   = -1

	scopeLimits = LimitTasks + 1
)

// Number is the number of a limit of a scope of the team's own accounts.
func (k ScopeKind) Number(limit int) int { return int(k)*scopeLimits + limit }

// Terms are a team's limits, as the forms of the store take them.
type Terms struct {
	Scope                     // the team's
	Inner  [InnerScopes]Scope // inside the team, by kind
	Tasks  int64              // None: any number
	Shadow bool

	policies *policies // copies share them; nil: nothing is kept
}

// TermsFor returns a team's limits and those of one of its keys, by id. A nil team has none.
func TermsFor(t *teams.Team, key string) Terms {
	l := TermsOf(t)
	if t != nil {
		if k := t.Key(key); k != nil {
			l.Inner[ScopeKey-1] = keyScope(k)
		}
	}
	return l
}

// keyScope is the limits of a key.
func keyScope(k *teams.Key) Scope {
	s := ScopeOf(ScopeKey, k.ID, k.Rates, k.Quotas)
	s.counted = InnerOf(k.ID, s.Quoted)
	return s
}

// TermsOf returns a team's limits without those of its keys. A nil team has none.
func TermsOf(t *teams.Team) (l Terms) {
	if t == nil {
		t = &teams.Team{}
	}
	l = Terms{Scope: ScopeOf(ScopeTeam, "", t.Rates, t.Quotas), Tasks: None, Shadow: t.Shadow, policies: new(policies)}
	l.Inner[ScopeTag-1] = ScopeOf(ScopeTag, "", nil, t.TagQuotas)
	l.Inner[ScopeKey-1] = ScopeOf(ScopeKey, "", nil, nil)
	if t.OpenTasks > 0 {
		l.Tasks = int64(t.OpenTasks)
	}
	return l
}

// TermsOn returns the limits of today's terms that apply to a day: the team's raises count only in the periods that run now.
func TermsOn(team *teams.Team, now, day *Calendar) Terms {
	t := TermsOf(team)
	if team.Base == nil {
		return t
	}
	base := ScopeOf(ScopeTeam, "", nil, team.Base)
	for q := range t.Quotas {
		if now.Period(q) != day.Period(q) {
			t.Quotas[q] = base.Quotas[q]
		}
	}
	return t
}

// policyFor is where the value of RateLimit-Policy is kept for a request of these amounts; nil: nowhere.
func (t *Terms) policyFor(amounts *Amounts) *atomic.Pointer[policyField] {
	if t.policies == nil {
		return nil
	}
	return &t.policies[amounts.Units()]
}

// Of returns the scope of a kind.
func (t *Terms) Of(k ScopeKind) *Scope {
	if k == ScopeTeam {
		return &t.Scope
	}
	return &t.Inner[k-1]
}

// CountsAny reports whether the team has a quota or open_tasks.
func (t *Terms) CountsAny() bool {
	for i := range StockTasks + 1 {
		if t.Counts(i) {
			return true
		}
	}
	return false
}

// Counts reports whether the team limits what has this index in a [Stock]: a unit by a quota, or tasks by open_tasks.
func (t *Terms) Counts(i int) bool {
	if i == StockTasks {
		return t.Tasks != None
	}
	return t.Scope.Counts(i)
}

// WithoutInnerQuotas returns the terms without the quotas inside the team.
func (t *Terms) WithoutInnerQuotas() Terms {
	all := *t
	for i := range all.Inner {
		s := &all.Inner[i]
		s.Quoted, s.Set = false, s.Rated
		for q := range s.Quotas {
			s.Quotas[q] = None
		}
	}
	return all
}

// InnerCounts reports whether a quota inside the team counts a unit that a request is charged in.
func (t *Terms) InnerCounts(a *Amounts) bool {
	for i := range t.Inner {
		for unit, n := range a {
			if n > 0 && t.Inner[i].Counts(unit) {
				return true
			}
		}
	}
	return false
}

// holdsWait is how soon a request may try again that only open holds block: it is unknown when they will be settled, and for how much.
const holdsWait = 5 * time.Second
