package teams

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sluice/policy"
	"sluice/policy/strictyaml"
	"sluice/policy/unit"
)

// ratedUnits are the units that may have rates.
var ratedUnits = slices.DeleteFunc(slices.Clone(unit.Names[:]), func(name unit.Name) bool { return !unit.Table[unit.Index(name)].Rate })

// Period is the length of a quota, by the calendar in UTC.
type Period string

// The periods.
const (
	PeriodDay   Period = "day"
	PeriodMonth Period = "month"
)

// Periods lists every period, the shorter first.
var Periods = [...]Period{PeriodDay, PeriodMonth}

// Rate is a token bucket: it refills continuously at Limit ÷ Per and holds at most Burst. A new bucket is full.
// Burst × Per in microseconds is below 2⁵³, and one unit always fits.
type Rate struct {
	Unit    unit.Name     // one that has rates in the table of units
	Per     time.Duration // 1s to 1h, whole seconds
	PerText string        // Per as the file writes it, "1m"
	Limit   int64         // units per Per, at least 1
	Burst   int64         // capacity in units, at least 1; default Limit
}

// Quota bounds the use of a team in one calendar period in UTC.
type Quota struct {
	Unit   unit.Name // any unit
	Period Period    // PeriodDay or PeriodMonth
	Limit  int64     // 0 to unit.Most, for unit.NameSpend in the team's Money; 0 allows nothing
}

// named is how warnings name the quota: images per day.
func (q Quota) named() string { return string(q.Unit) + " per " + string(q.Period) }

// AccountLimit is a limit of an account at the service, shared by all teams that it serves.
type AccountLimit struct {
	Models []policy.Pattern // the models whose requests share it; nil: all
	Rates  []Rate           // at least one, at most one per unit, in the order of unit.Names
}

// readAccountLimits reads the account's own limits.
func readAccountLimits(n strictyaml.Node) (all []AccountLimit) {
	n.Items("a list of limits", func(item strictyaml.Node) { all = append(all, readAccountLimit(item)) })
	return all
}

// readAccountLimit reads one of the account's own limits.
func readAccountLimit(n strictyaml.Node) (limit AccountLimit) {
	models := strictyaml.May("models", strictyaml.Some(&limit.Models, "model patterns", modelPattern))
	given := n.Fields(append([]strictyaml.Field{models}, rateFields(&limit.Rates)...)...)
	if given != nil && len(limit.Rates) == 0 {
		n.Fault(strictyaml.Fault{Given: "no limit", Allowed: strictyaml.AnyOf(ratedUnits)})
	}
	return limit
}

// rateFields are the fields of rates, which replace those of the same unit.
func rateFields(rates *[]Rate) (fields []strictyaml.Field) {
	for _, unit := range ratedUnits {
		fields = append(fields, strictyaml.May(string(unit), func(n strictyaml.Node) {
			*rates = without(*rates, func(r Rate) bool { return r.Unit == unit })
			if !n.IsNone() {
				*rates = append(*rates, readRate(n, unit))
			}
			slices.SortFunc(*rates, func(a, b Rate) int { return compareUnits(a.Unit, b.Unit) })
		}))
	}
	return fields
}

// quotaFields are the fields of quotas, which replace those of the same unit and period.
func quotaFields(quotas *[]Quota) (units []strictyaml.Field) {
	for _, u := range unit.Table {
		var periods []strictyaml.Field
		for _, period := range Periods {
			periods = append(periods, strictyaml.May(string(period), func(n strictyaml.Node) {
				*quotas = without(*quotas, func(q Quota) bool { return q.Unit == u.Name && q.Period == period })
				if !n.IsNone() {
					limit, _ := strictyaml.Read(n, amountOf(n, &u))
					*quotas = append(*quotas, Quota{u.Name, period, limit})
				}
				slices.SortFunc(*quotas, func(a, b Quota) int {
					return cmp.Or(compareUnits(a.Unit, b.Unit), slices.Index(Periods[:], a.Period)-slices.Index(Periods[:], b.Period))
				})
			}))
		}
		units = append(units, strictyaml.May(string(u.Name), strictyaml.Group(periods...)))
	}
	return units
}

// amountOf is the form of an amount of a unit, 0 or more.
func amountOf(n strictyaml.Node, u *unit.Unit) strictyaml.Form[int64] {
	if u.Money {
		return amount(n)
	}
	return strictyaml.Whole[int64](0, unit.Most)
}

func compareUnits(a, b unit.Name) int {
	return slices.Index(unit.Names[:], a) - slices.Index(unit.Names[:], b)
}

// without copies a list without some elements; nil: no element is left. It never changes the list, which may belong to
// the defaults.
func without[T any](list []T, drop func(T) bool) (kept []T) {
	for _, item := range list {
		if !drop(item) {
			kept = append(kept, item)
		}
	}
	return kept
}

// readRate reads one rate.
func readRate(n strictyaml.Node, of unit.Name) Rate {
	rate := Rate{Unit: of}
	given := n.Fields(
		strictyaml.Must("per", func(v strictyaml.Node) {
			rate.Per, _ = strictyaml.Read(v, window)
			rate.PerText, _ = v.Text()
		}),
		strictyaml.Must("limit", strictyaml.One(&rate.Limit, strictyaml.Whole[int64](1, unit.Most))),
		strictyaml.May("burst", strictyaml.One(&rate.Burst, strictyaml.Whole[int64](1, unit.Most))),
	)
	if !given["burst"] {
		rate.Burst = rate.Limit
	}
	if rate.Per > 0 && rate.Limit > 0 && rate.Burst > 0 {
		rate.check(n)
	}
	return rate
}

// maxRefill is the longest time in which an empty bucket fills. Twice that time, counted from now in microseconds, stays
// below 2⁵³ for centuries. A limit that refills more slowly should be a quota.
const maxRefill = 366 * 24 * time.Hour

// check refuses a rate whose arithmetic would not be exact, or whose bucket never holds one unit.
//
// The state counts a bucket in microseconds of refill: a full one has ⌊burst × per ÷ limit⌋, a unit takes
// ⌈per ÷ limit⌉, and the products are exact below 2⁵³.
func (r Rate) check(n strictyaml.Node) {
	per := r.Per.Microseconds()
	if most := unit.Most / per; r.Burst > most {
		n.Fault(strictyaml.Fault{
			Given:   fmt.Sprintf("a burst of %d", r.Burst),
			Allowed: fmt.Sprintf("at most %d with per %s (burst absent is limit)", most, r.PerText),
		})
		return
	}
	burst := func(bound string, n int64) string {
		return fmt.Sprintf("a burst of at %s %d with this limit", bound, n)
	}
	full, unit := r.Burst*per/r.Limit, (per+r.Limit-1)/r.Limit
	if full > maxRefill.Microseconds() {
		n.Fault(strictyaml.Fault{
			Given:   "a bucket that takes more than a year to fill",
			Allowed: burst("most", maxRefill.Microseconds()/per*r.Limit),
		})
	}
	if full < unit {
		n.Fault(strictyaml.Fault{Given: "a bucket in which one unit never fits", Allowed: burst("least", (unit*r.Limit+per-1)/per)})
	}
}
