package redisstore

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// plan is the arguments of admit.lua that are the same for all requests of a team that are charged in the same units. It is made
// once for each reading of the teams file. All are converted once.
type plan struct {
	units  []int
	rates  []planRate
	quotas []any // day and month of each unit, "" for none
	capped int   // how many of quotas are set
	byTag  []any // the same for each value of the tag; nil: there are none
	tagged []int // the indices of byTag that are set
	fields atomic.Pointer[planFields]

	takes, shadow, tasks any // the set of rates, whether the team is in shadow mode, the most open tasks
}

// planRate is a rate as admit.lua takes it.
type planRate struct {
	rate           teams.Rate
	unit           int
	key, text, ttl any
	full           any // µs that the whole bucket takes to refill
}

// planFields are the plan's own arguments on one day.
type planFields struct {
	day   int
	fixed []any
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
	p := &plan{takes: strconv.Itoa(int(t.RateSet())), shadow: flag(t.Shadow), tasks: strconv.FormatInt(t.Tasks, 10)}
	for unit, n := range amounts {
		if n == 0 {
			continue
		}
		p.units = append(p.units, unit)
		for q := 2 * unit; q < 2*unit+2; q++ {
			if t.Quotas[q] == limit.None {
				p.quotas = append(p.quotas, "")
				continue
			}
			p.quotas = append(p.quotas, strconv.FormatInt(t.Quotas[q], 10))
			p.capped++
		}
		if t.ByTag {
			p.addTagQuotas(t.TagQuotas[2*unit : 2*unit+2])
		}
		if unit < limit.RateCount && t.Rates[unit].Limit > 0 {
			p.rates = append(p.rates, newPlanRate(k, unit, t.Rates[unit]))
		}
	}
	return p
}

// addTagQuotas adds the quotas of day and month of one unit.
func (p *plan) addTagQuotas(quotas []int64) {
	for _, most := range quotas {
		if most != limit.None {
			p.tagged = append(p.tagged, len(p.byTag))
		}
		if most == limit.None {
			p.byTag = append(p.byTag, "")
		} else {
			p.byTag = append(p.byTag, strconv.FormatInt(most, 10))
		}
	}
}

// script is the script of admissions. That of a team with quotas of its tag knows these, too.
func (p *plan) script() *script {
	if p.byTag == nil {
		return admitScript
	}
	return admitTagsScript
}

func newPlanRate(k *teamKeys, unit int, r teams.Rate) planRate {
	a := rateArgsOf(r)
	return planRate{rate: r, unit: unit, key: k.rates[unit], text: a.Text, ttl: a.Keep, full: strconv.FormatInt(limit.FullIn(r), 10)}
}

// tasksFor is the limit of open tasks, as admit.lua takes it.
func (p *plan) tasksFor(task bool) any {
	if !task {
		return ""
	}
	return p.tasks
}

// fixed returns the arguments from the number of units to the rates, on a day.
func (p *plan) fixed(day int) []any {
	if f := p.fields.Load(); f != nil && f.day == day {
		return f.fixed
	}
	names := p.names(day)
	args := slices.Concat([]any{strconv.Itoa(len(p.units)), strconv.Itoa(len(names)), strconv.Itoa(len(p.rates))}, p.quotas, names)
	for i := range p.rates {
		args = append(args, p.rates[i].text, p.rates[i].full, p.rates[i].ttl)
	}
	p.fields.Store(&planFields{day, args})
	return args
}

// names returns the fields of the hash of quotas on a day: what is held, then of each quota what is used and set aside.
func (p *plan) names(day int) (names []any) {
	var used []any
	for i := range p.quotas {
		q := 2*p.units[i/2] + i%2
		names = append(names, fieldOf(day, q, ":held"))
		if p.quotas[i] != "" {
			used = append(used, fieldOf(day, q, ":used"), fieldOf(day, q, ":aside"))
		}
	}
	return append(names, used...)
}

// fieldOf is a field of the hash of quotas, by the number of the quota.
func fieldOf(day, quota int, of string) string {
	return strconv.Itoa(periodOf(day, quota)) + ":" + string(teams.Units[quota/2]) + of
}

// today is the day by this process's clock. admit.lua uses it if Redis's own day is the same: that saves computing one.
type today struct {
	limit.Calendar
	before                        int // the day before, yyyymmdd
	dayText, monthText, startText any // converted once
}

// dayNow keeps the current day.
type dayNow struct{ kept atomic.Pointer[today] }

// at is the day of a moment.
func (d *dayNow) at(now time.Time) *today {
	if t := d.kept.Load(); t != nil && !now.Before(t.Start) && now.Before(t.End[0]) {
		return t
	}
	c := limit.CalendarOf(now)
	t := &today{c, limit.CalendarOf(c.Start.AddDate(0, 0, -1)).Day, strconv.Itoa(c.Day), strconv.Itoa(c.Month), strconv.FormatInt(c.Start.UnixMicro(), 10)}
	d.kept.Store(t)
	return t
}

// of is the calendar of a moment, most likely of this day.
func (t *today) of(now time.Time) limit.Calendar {
	if !now.Before(t.Start) && now.Before(t.End[0]) {
		return t.Calendar
	}
	return limit.CalendarOf(now)
}

// dayFields are the fields of the hash of quotas for what a day and its month hold and have used, by the number of the quota.
type dayFields struct {
	day        int
	held, used [limit.QuotaCount]any // converted once
}

// fieldsNow keeps those of the day that was asked for last.
type fieldsNow struct{ kept atomic.Pointer[dayFields] }

func (f *fieldsNow) on(day int) *dayFields {
	if d := f.kept.Load(); d != nil && d.day == day {
		return d
	}
	d := &dayFields{day: day}
	for q := range d.held {
		d.held[q], d.used[q] = fieldOf(day, q, ":held"), fieldOf(day, q, ":used")
	}
	f.kept.Store(d)
	return d
}
