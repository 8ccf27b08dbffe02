package teams

import (
	"fmt"
	"time"
)

// none takes a limit of the defaults away from a team.
const none = "none"

// unlimited reports whether the value is the word none.
func unlimited(n fileNode) bool {
	text, ok := scalar(n.ast)
	return ok && text == none
}

// rates reads a team's rates over those already in rates.
func (r *fileReader) rates(n fileNode, rates map[Unit]Rate) {
	r.fields(n, r.rateFields(rates))
}

func (r *fileReader) rateFields(rates map[Unit]Rate) []fileField {
	var fields []fileField
	for _, unit := range []Unit{UnitRequests, UnitTokens, UnitImages} {
		fields = append(fields, fileField{string(unit), func(v fileNode) {
			if unlimited(v) {
				delete(rates, unit)
			} else {
				rates[unit] = r.rate(v, unit)
			}
		}})
	}
	return fields
}

// rate reads one rate.
func (r *fileReader) rate(n fileNode, unit Unit) Rate {
	rate := Rate{Unit: unit}
	var perOK, limitOK bool
	burstOK := true
	given := r.fields(n, []fileField{
		{"per", func(v fileNode) { rate.Per, rate.PerText, perOK = r.per(v) }},
		{"limit", func(v fileNode) { rate.Limit, limitOK = r.whole(v, 1, MaxAmount) }},
		{"burst", func(v fileNode) { rate.Burst, burstOK = r.whole(v, 1, MaxAmount) }},
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

// maxRefill is the longest that an empty bucket may take to fill. It keeps twice that time, counted from now in
// microseconds, below 2⁵³ for centuries; what refills more slowly is a quota.
const maxRefill = 366 * 24 * time.Hour

// checkRate refuses a rate whose arithmetic would not be exact, or in whose bucket one unit would never fit.
//
// The state counts a bucket in microseconds of refill: full is burst × per ÷ limit of them, at least ⌊that⌋, one unit takes
// ⌈per ÷ limit⌉, and the products stay exact below 2⁵³.
func (r *fileReader) checkRate(n fileNode, rate Rate) {
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

// quotas reads a team's quotas over those already in quotas.
func (r *fileReader) quotas(n fileNode, quotas map[quotaName]int64) {
	var units []fileField
	for _, unit := range Units {
		units = append(units, fileField{string(unit), func(v fileNode) { r.periods(v, unit, quotas) }})
	}
	r.fields(n, units)
}

func (r *fileReader) periods(n fileNode, unit Unit, quotas map[quotaName]int64) {
	var periods []fileField
	for _, period := range Periods {
		name := quotaName{unit, period}
		periods = append(periods, fileField{string(period), func(v fileNode) {
			if unlimited(v) {
				delete(quotas, name)
				return
			}
			quotas[name] = r.amount(v, unit)
		}})
	}
	r.fields(n, periods)
}

// amount reads how much of a unit a quota allows.
func (r *fileReader) amount(n fileNode, unit Unit) int64 {
	if unit == UnitSpend {
		amount, _ := r.money(n)
		return amount
	}
	amount, _ := r.whole(n, 0, MaxAmount)
	return amount
}

// count reads how many requests or tasks may be under way at once.
func (r *fileReader) count(n fileNode) int {
	if unlimited(n) {
		return 0
	}
	number, _ := r.whole(n, 1, 1_000_000)
	return int(number)
}

// account reads the upstream account's own limits.
func (r *fileReader) account(n fileNode) (limits []AccountLimit) {
	r.items(n, "a list of limits", func(item fileNode) {
		var limit AccountLimit
		rates := map[Unit]Rate{}
		models := fileField{"models", func(v fileNode) { limit.Models = r.patterns(v) }}
		r.fields(item, append([]fileField{models}, r.rateFields(rates)...))
		for _, unit := range Units {
			if rate, ok := rates[unit]; ok {
				limit.Rates = append(limit.Rates, rate)
			}
		}
		if item.hasFields() && len(limit.Rates) == 0 {
			r.fault(item, "got no limit, allowed: requests, tokens or images")
		}
		limits = append(limits, limit)
	})
	return limits
}
