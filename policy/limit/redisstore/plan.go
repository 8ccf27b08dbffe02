package redisstore

import (
	"strconv"
	"sync/atomic"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// plan is the arguments of admit.lua that are the same for all requests of a team that are charged in the same units. It is made
// once for each reading of the teams file.
type plan struct {
	units  []int
	rates  []planRate
	quotas []any  // day and month of each unit, "" for none
	cells  []cell // that the reply has
	fields atomic.Pointer[planFields]

	unitCount, fieldCount any // converted once, as all of these
}

// planRate is a rate as admit.lua takes it.
type planRate struct {
	rate           teams.Rate
	unit           int
	key, text, ttl any
	full           int64 // µs that the whole bucket takes to refill
	fullText       any
}

// cell is a field of the hash of quotas.
type cell struct {
	quota int
	of    string
}

// The ends of fields of the hash of quotas.
const (
	cellHeld  = ":held"
	cellUsed  = ":used"
	cellAside = ":aside"
)

// planFields are a plan's fields on one day.
type planFields struct {
	day   int
	names []any
}

// planFor returns the plan for amounts.
func (w *wiredTerms) planFor(k *teamKeys, amounts *limit.Amounts) *plan {
	mask := 0
	for unit, n := range amounts {
		if n > 0 {
			mask |= 1 << unit
		}
	}
	if p := w.plans[mask].Load(); p != nil {
		return p
	}
	p := newPlan(k, &w.terms, amounts)
	w.plans[mask].Store(p)
	return p
}

func newPlan(k *teamKeys, t *limit.Terms, amounts *limit.Amounts) *plan {
	p := &plan{}
	var used []cell
	for unit, n := range amounts {
		day, month := 2*unit, 2*unit+1
		if n == 0 {
			continue
		}
		p.units = append(p.units, unit)
		p.cells = append(p.cells, cell{day, cellHeld}, cell{month, cellHeld})
		for _, q := range []int{day, month} {
			if t.Quotas[q] == limit.None {
				p.quotas = append(p.quotas, "")
				continue
			}
			p.quotas = append(p.quotas, strconv.FormatInt(t.Quotas[q], 10))
			used = append(used, cell{q, cellUsed}, cell{q, cellAside})
		}
		if unit < limit.RateCount && t.Rates[unit].Limit > 0 {
			p.rates = append(p.rates, newPlanRate(k, unit, t.Rates[unit]))
		}
	}
	p.cells = append(p.cells, used...)
	p.unitCount, p.fieldCount = strconv.Itoa(len(p.units)), strconv.Itoa(len(p.cells))
	return p
}

func newPlanRate(k *teamKeys, unit int, r teams.Rate) planRate {
	wire := appendRate(nil, r)
	full := limit.FullIn(r)
	return planRate{
		rate: r, unit: unit, key: k.shared[unit], text: wire[0], ttl: wire[rateArgs-1],
		full: full, fullText: strconv.FormatInt(full, 10),
	}
}

// names returns the fields on a day.
func (p *plan) names(day int) []any {
	if f := p.fields.Load(); f != nil && f.day == day {
		return f.names
	}
	names := make([]any, 0, len(p.cells))
	for _, c := range p.cells {
		names = append(names, strconv.Itoa(periodOf(day, c.quota))+":"+string(teams.Units[c.quota/2])+c.of)
	}
	p.fields.Store(&planFields{day, names})
	return names
}

// periodOf is the number of a quota's period on a day.
func periodOf(day, quota int) int {
	if quota%2 == 1 {
		return day / 100
	}
	return day
}
