package limit

import (
	"time"

	"sluice/policy/teams"
)

// none is a quota that is not set.
const none = -1

// Limits are numbered: the rates of requests, tokens and images, then the quotas, day and month of each unit, then
// open_tasks, then the account's. Scripts return these numbers.
const (
	limitRates   = 0
	limitQuotas  = 3
	limitTasks   = 11
	limitAccount = 12
	limitNone    = -1
)

const (
	rateCount  = limitQuotas - limitRates
	quotaCount = limitTasks - limitQuotas
)

// terms are a team's limits by number, as the forms of the state take them.
type terms struct {
	rates  [rateCount]teams.Rate // Limit 0: none
	quotas [quotaCount]int64     // none: not set
	tasks  int64                 // none: any number
	shadow bool
}

func termsOf(t *teams.Team) (l terms) {
	for i := range l.quotas {
		l.quotas[i] = none
	}
	l.tasks = none
	if t == nil {
		return l
	}
	for _, r := range t.Rates {
		l.rates[unitIndex(r.Unit)] = r
	}
	for _, q := range t.Quotas {
		l.quotas[2*unitIndex(q.Unit)+periodIndex(q.Period)] = q.Limit
	}
	if t.OpenTasks > 0 {
		l.tasks = int64(t.OpenTasks)
	}
	l.shadow = t.Shadow
	return l
}

// rateSet names rates of a team: 1 for requests, 2 for tokens, 4 for images, added up.
type rateSet uint8

func (s rateSet) has(unit int) bool { return s&(1<<unit) != 0 }

// rateSet names the rates that there are.
func (t *terms) rateSet() (s rateSet) {
	for i := range t.rates {
		if t.rates[i].Limit > 0 {
			s |= 1 << i
		}
	}
	return s
}

// readTerms are the terms of one reading of a team.
type readTerms struct {
	of *teams.Team
	terms
}

// termsOf returns the terms of the account's team, which change when a reload brings another reading of it.
func (a *account) termsOf(t *teams.Team) *terms {
	r := a.terms.Load()
	if r == nil || r.of != t {
		r = &readTerms{of: t, terms: termsOf(t)}
		a.terms.Store(r)
	}
	return &r.terms
}

// has reports whether a numbered rate or quota is set.
func (t *terms) has(number int) bool {
	if number < limitQuotas {
		return t.rates[number].Limit > 0
	}
	return t.quotas[number-limitQuotas] != none
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

// countsUnit reports whether a quota counts a unit, or open_tasks the tasks.
func (t *terms) countsUnit(i int) bool {
	if i == stockTasks {
		return t.tasks != none
	}
	return t.quotas[2*i] != none || t.quotas[2*i+1] != none
}

func unitIndex(u teams.Unit) int {
	switch u {
	case teams.UnitRequests:
		return Requests
	case teams.UnitTokens:
		return Tokens
	case teams.UnitImages:
		return Images
	}
	return Spend
}

func periodIndex(p teams.Period) int {
	if p == teams.PeriodMonth {
		return 1
	}
	return 0
}

// holdsWait is how soon a refused request may try again where only open holds stand in its way: nobody knows when
// they will be settled, or for how much.
const holdsWait = 5 * time.Second
