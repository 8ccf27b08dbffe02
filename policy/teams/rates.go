package teams

import (
	"fmt"
	"time"
)

// none removes a limit of the defaults from a team.
const none = "none"

// unlimited reports whether the value is the word none.
func unlimited(n node) bool {
	text, ok := scalar(n.ast)
	return ok && text == none
}

// rateFields are the fields of rates, which go into the map, over those of the defaults.
func (r *fileReader) rateFields(rates map[Unit]Rate) []field {
	var fields []field
	for _, unit := range []Unit{UnitRequests, UnitTokens, UnitImages} {
		fields = append(fields, field{string(unit), func(v node) {
			if unlimited(v) {
				delete(rates, unit)
			} else {
				rates[unit] = r.rate(v, unit)
			}
		}})
	}
	return fields
}

// ordered lists the rates in the order of Units.
func ordered(rates map[Unit]Rate) (list []Rate) {
	for _, unit := range Units {
		if rate, ok := rates[unit]; ok {
			list = append(list, rate)
		}
	}
	return list
}

// orderedQuotas lists quotas in the order of Units, the day before the month.
func orderedQuotas(quotas map[quotaName]int64) (list []Quota) {
	for _, unit := range Units {
		for _, period := range Periods {
			if limit, ok := quotas[quotaName{unit, period}]; ok {
				list = append(list, Quota{unit, period, limit})
			}
		}
	}
	return list
}

// rate reads one rate.
func (r *fileReader) rate(n node, unit Unit) Rate {
	rate := Rate{Unit: unit}
	var perOK, limitOK bool
	burstOK := true
	given := r.fields(n, []field{
		{"per", func(v node) { rate.Per, rate.PerText, perOK = r.per(v) }},
		{"limit", func(v node) { rate.Limit, limitOK = r.whole(v, 1, MaxAmount) }},
		{"burst", func(v node) { rate.Burst, burstOK = r.whole(v, 1, MaxAmount) }},
	})
	r.require(n, given, "per", "limit")
	if !given["burst"] {
		rate.Burst = rate.Limit
	}
	if perOK && limitOK && burstOK {
		r.checkRate(n, rate)
	}
	return rate
}

// maxRefill is the longest time in which an empty bucket fills. Twice that time, counted from now in microseconds, stays
// below 2⁵³ for centuries. A limit that refills more slowly should be a quota.
const maxRefill = 366 * 24 * time.Hour

// checkRate refuses a rate whose arithmetic would not be exact, or whose bucket never holds one unit.
//
// The state counts a bucket in microseconds of refill: a full one has ⌊burst × per ÷ limit⌋, a unit takes
// ⌈per ÷ limit⌉, and the products are exact below 2⁵³.
func (r *fileReader) checkRate(n node, rate Rate) {
	per := rate.Per.Microseconds()
	if most := MaxAmount / per; rate.Burst > most {
		r.fault(n, fmt.Sprintf("got a burst of %d, allowed: at most %d with per %s (burst absent is limit)",
			rate.Burst, most, rate.PerText))
		return
	}
	full, unit := rate.Burst*per/rate.Limit, (per+rate.Limit-1)/rate.Limit
	if full > maxRefill.Microseconds() {
		r.fault(n, fmt.Sprintf("got a bucket that takes more than a year to fill, allowed: a burst of at most %d with this limit",
			maxRefill.Microseconds()/per*rate.Limit))
	}
	if full < unit {
		r.fault(n, fmt.Sprintf("got a bucket in which one unit never fits, allowed: a burst of at least %d with this limit",
			(unit*rate.Limit+per-1)/per))
	}
}

// quotas reads quotas into the map, over those of the defaults.
func (r *fileReader) quotas(n node, quotas map[quotaName]int64) {
	var units []field
	for _, unit := range Units {
		units = append(units, field{string(unit), func(v node) { r.periods(v, unit, quotas) }})
	}
	r.fields(n, units)
}

func (r *fileReader) periods(n node, unit Unit, quotas map[quotaName]int64) {
	var periods []field
	for _, period := range Periods {
		name := quotaName{unit, period}
		periods = append(periods, field{string(period), func(v node) {
			if unlimited(v) {
				delete(quotas, name)
				return
			}
			quotas[name] = r.amount(v, unit)
		}})
	}
	r.fields(n, periods)
}

// amount reads what a quota allows of a unit.
func (r *fileReader) amount(n node, unit Unit) int64 {
	if unit == UnitSpend {
		amount, _ := r.money(n)
		return amount
	}
	amount, _ := r.whole(n, 0, MaxAmount)
	return amount
}

// count reads how many requests or tasks may be under way at once.
func (r *fileReader) count(n node) int {
	if unlimited(n) {
		return 0
	}
	number, _ := r.whole(n, 1, 1_000_000)
	return int(number)
}

// account reads the upstream account's own limits.
func (r *fileReader) account(n node) (limits []AccountLimit) {
	r.items(n, "a list of limits", func(item node) {
		var limit AccountLimit
		rates := map[Unit]Rate{}
		models := field{"models", func(v node) { limit.Models = r.patterns(v) }}
		r.fields(item, append([]field{models}, r.rateFields(rates)...))
		limit.Rates = ordered(rates)
		if item.hasFields() && len(limit.Rates) == 0 {
			r.fault(item, "got no limit, allowed: requests, tokens or images")
		}
		limits = append(limits, limit)
	})
	return limits
}
