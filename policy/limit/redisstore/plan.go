package redisstore

import (
	"cmp"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// plan is the arguments of admit.lua that are the same for all requests of a team that are charged in the same units. It is made once
// for each reading of the teams file, and its arguments are converted once.
type plan struct {
	units  []int
	rates  []planRate
	quotas []any       // the team's, of day and month of each unit, "" for none
	inner  []planScope // the kinds of scopes inside the team that have quotas
	last   []any       // the arguments for inner
	fields atomic.Pointer[planFields]

	rateSet              limit.RateSet
	takes, shadow, tasks any // rateSet, whether the team is in shadow mode, the most open tasks
}

// inText stands for the name of a scope that is in the text of each hold.
const inText = "@"

// planScope is a kind of scopes inside the team, and its quotas that are set, by their places among day and month of each unit.
type planScope struct {
	kind   limit.ScopeKind
	quotas []int
}

// planRate is a rate as admit.lua takes it.
type planRate struct {
	rate           teams.Rate
	kind           limit.ScopeKind
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
func (w *wiredTerms) planFor(amounts *limit.Amounts) *plan {
	kept := &w.plans[amounts.Units()]
	p := kept.Load()
	if p == nil {
		p = newPlan(w, amounts)
		kept.Store(p)
	}
	return p
}

func newPlan(w *wiredTerms, amounts *limit.Amounts) *plan {
	t := &w.terms
	p := &plan{rateSet: t.RateSet(), takes: strconv.Itoa(int(t.RateSet())), shadow: flag(t.Shadow), tasks: strconv.FormatInt(t.Tasks, 10)}
	for unit, n := range amounts {
		if n != 0 {
			p.units = append(p.units, unit)
		}
	}
	for i := range w.rates {
		if r := &w.rates[i]; amounts[r.Unit-1] > 0 {
			p.rates = append(p.rates, newPlanRate(r))
		}
	}
	p.quotas, _ = p.quotasOf(&t.Scope)
	for k := range t.Inner {
		if scope := &t.Inner[k]; scope.Quoted {
			quotas, set := p.quotasOf(scope)
			p.inner = append(p.inner, planScope{scope.Kind, set})
			p.last = append(append(p.last, innerKeys[scope.Kind], cmp.Or(scope.Name, inText)), quotas...)
		}
	}
	return p
}

// quotasOf lists the quotas of day and month of each unit, "" for none, and the places of those that are set.
func (p *plan) quotasOf(s *limit.Scope) (quotas []any, set []int) {
	for at := range 2 * len(p.units) {
		most := s.Quotas[p.quota(at)]
		if most == limit.None {
			quotas = append(quotas, "")
			continue
		}
		quotas, set = append(quotas, strconv.FormatInt(most, 10)), append(set, at)
	}
	return quotas, set
}

// script is the script of admissions. For a team with quotas inside it, it also checks these.
func (p *plan) script() *script {
	if p.inner == nil {
		return admitScript
	}
	return admitInnerScript
}

func newPlanRate(r *wiredRate) planRate {
	full := strconv.FormatInt(limit.FullIn(r.rate), 10)
	return planRate{rate: r.rate, kind: r.kind, unit: r.Unit - 1, key: r.key, text: r.Text, ttl: r.Keep, full: full}
}

// tasksFor is the limit of open tasks, as admit.lua takes it.
func (p *plan) tasksFor(task bool) any {
	if !task {
		return ""
	}
	return p.tasks
}

// fixed returns the arguments from the number of units to the rates, for a day.
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
		q := p.quota(i)
		names = append(names, fieldOf(day, q, ":held"))
		if p.quotas[i] != "" {
			used = append(used, fieldOf(day, q, ":used"), fieldOf(day, q, ":aside"))
		}
	}
	return append(names, used...)
}

// fieldOf is a field of the hash of quotas, by the number of the quota.
func fieldOf(day, quota int, of string) string {
	return strconv.Itoa(periodOf(day, quota)) + ":" + string(unit.Names[quota/2]) + of
}

// quota is the number of the quota at an index of a list of day and month of each unit charged.
func (p *plan) quota(at int) int { return 2*p.units[at/2] + at%2 }

// limit is the number of the limit that admit.lua names as the refusing one. There the rates, the tasks, and the quotas of each scope
// are numbered from 1.
func (p *plan) limit(fault int) int {
	quota, width := fault-len(p.rates)-2, len(p.quotas)
	switch {
	case fault <= 0 || quota >= width*(1+len(p.inner)):
		return limit.LimitNone
	case fault <= len(p.rates):
		return p.rates[fault-1].kind.Number(p.rates[fault-1].unit)
	case quota < 0:
		return limit.LimitTasks
	case quota < width:
		return limit.LimitQuotas + p.quota(quota)
	}
	return p.inner[quota/width-1].kind.Number(limit.LimitQuotas + p.quota(quota%width))
}

// periodOf is the number of a quota's period on a day.
func periodOf(day, quota int) int {
	if quota%2 == 1 {
		return day / 100
	}
	return day
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
	yesterday, start := limit.CalendarOf(c.Start.AddDate(0, 0, -1)).Day, strconv.FormatInt(c.Start.UnixMicro(), 10)
	t := &today{c, yesterday, strconv.Itoa(c.Day), strconv.Itoa(c.Month), start}
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
	ends       any                   // its end, µs
	held, used [limit.QuotaCount]any // converted once
}

// fieldsNow keeps the fields of the day that was requested last.
type fieldsNow struct{ kept atomic.Pointer[dayFields] }

func (f *fieldsNow) on(day int) *dayFields {
	if d := f.kept.Load(); d != nil && d.day == day {
		return d
	}
	d := &dayFields{day: day, ends: limit.DayEnds(day).UnixMicro()}
	for q := range d.held {
		d.held[q], d.used[q] = fieldOf(day, q, ":held"), fieldOf(day, q, ":used")
	}
	f.kept.Store(d)
	return d
}
