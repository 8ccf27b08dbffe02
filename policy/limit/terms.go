package limit

import (
	"time"

	"sluice/policy/teams"
	"sluice/policy/unit"
)

// None is a quota that is not set.
const None = -1

// Limits are numbered: the rates, one for each unit, then the quotas, day and month of each unit, then open_tasks, then
// the quotas of each value of the tag. admit.lua returns these numbers.
const (
	LimitRates  = 0
	LimitQuotas = LimitRates + RateCount
	LimitTasks  = LimitQuotas + QuotaCount
	LimitTags   = LimitTasks + 1
	LimitNone   = -1
)

// How many rates and quotas a team may have.
const (
	RateCount  = unit.Count
	QuotaCount = unit.Count * len(teams.Periods)
)

// Terms are a team's limits by number, as the forms of the state take them.
type Terms struct {
	Rates     [RateCount]teams.Rate // Limit 0: none
	Quotas    [QuotaCount]int64     // None: not set
	TagQuotas [QuotaCount]int64     // of each value of the tag; None: not set
	Tasks     int64                 // None: any number
	ByTag     bool                  // some of Tags are set
	Shadow    bool
}

// TermsOf returns a team's limits by number. nil has none.
func TermsOf(t *teams.Team) (l Terms) {
	for i := range l.Quotas {
		l.Quotas[i], l.TagQuotas[i] = None, None
	}
	l.Tasks = None
	if t == nil {
		return l
	}
	for _, r := range t.Rates {
		l.Rates[UnitIndex(r.Unit)] = r
	}
	for _, q := range t.Quotas {
		l.Quotas[quotaNumber(q)] = q.Limit
	}
	for _, q := range t.TagQuotas {
		l.TagQuotas[quotaNumber(q)], l.ByTag = q.Limit, true
	}
	if t.OpenTasks > 0 {
		l.Tasks = int64(t.OpenTasks)
	}
	l.Shadow = t.Shadow
	return l
}

// RateSet names rates of a team by the bits of their units: 1 for the first one, 2 for the second, 4 for the third.
type RateSet uint8

// Has reports whether a unit's rate is in the set.
func (s RateSet) Has(unit int) bool { return s&(1<<unit) != 0 }

// RateSet names the rates that are set.
func (t *Terms) RateSet() (s RateSet) {
	for i := range t.Rates {
		if t.Rates[i].Limit > 0 {
			s |= 1 << i
		}
	}
	return s
}

// readTerms are the terms of a team as one reading of the teams file has it.
type readTerms struct {
	of *teams.Team
	Terms
}

// termsOf returns the terms of the account's team. They change with a reload.
func (a *account) termsOf(t *teams.Team) *Terms {
	r := a.terms.Load()
	if r == nil || r.of != t {
		r = &readTerms{of: t, Terms: TermsOf(t)}
		a.terms.Store(r)
	}
	return &r.Terms
}

// has reports whether a numbered rate or quota is set.
func (t *Terms) has(number int) bool {
	if number < LimitQuotas {
		return t.Rates[number].Limit > 0
	}
	return t.Quotas[number-LimitQuotas] != None
}

// CountsAny reports whether the team has a quota or open_tasks.
func (t *Terms) CountsAny() bool {
	for _, q := range t.Quotas {
		if q != None {
			return true
		}
	}
	return t.Tasks != None
}

// Counts reports whether a quota counts a unit, by its index in a Stock, or open_tasks the tasks.
func (t *Terms) Counts(i int) bool {
	if i == StockTasks {
		return t.Tasks != None
	}
	return t.Quotas[2*i] != None || t.Quotas[2*i+1] != None
}

// quotaNumber is a quota's index among those of a team.
func quotaNumber(q teams.Quota) int {
	if q.Period == teams.PeriodMonth {
		return 2*UnitIndex(q.Unit) + 1
	}
	return 2 * UnitIndex(q.Unit)
}

// TagCounts reports whether a quota of each value of the tag counts a unit that a request is charged in.
func (t *Terms) TagCounts(a *Amounts) bool {
	for q, most := range t.TagQuotas {
		if most != None && a[q/2] > 0 {
			return true
		}
	}
	return false
}

// holdsWait is how soon a refused request may try again if only open holds stand in its way: it is not known when they will be
// settled, or for how much.
const holdsWait = 5 * time.Second
