package redisstore

import (
	"cmp"
	"encoding/json"
	"strconv"
	"sync/atomic"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// plan is what all requests of a team have in common that are charged in the same units. It is made once for each reading of the teams
// file.
type plan struct {
	units   []int
	rates   []planRate
	inner   []planScope // the kinds of scopes inside the team that have quotas
	rateSet limit.RateSet
	args    planArgs // without what depends on the day
	onDay   atomic.Pointer[planText]
}

// planArgs is a plan in the arguments of admit.lua.
type planArgs struct {
	Takes  string      `json:"takes"` // the set of rates
	Shadow bool        `json:"shadow"`
	Tasks  int64       `json:"tasks"`
	Day    string      `json:"day"`
	Month  string      `json:"month"`
	Start  int64       `json:"start"`
	Quotas []any       `json:"quotas"` // the team's, of day and month of each unit, "" for none
	Fields []string    `json:"fields"`
	Rates  [][3]any    `json:"rates"`
	Inner  []innerArgs `json:"inner"`
}

// innerArgs is a kind of scopes inside the team in the arguments of admit.lua.
type innerArgs struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Quotas []any  `json:"quotas"`
}

// inText is the name of a scope that the text of each hold names.
const inText = "@"

// planScope is a kind of scopes inside the team, and its quotas that are set, by their places among day and month of each unit.
type planScope struct {
	kind   limit.ScopeKind
	quotas []int
}

// planRate is a rate as admit.lua takes it.
type planRate struct {
	rate teams.Rate
	kind limit.ScopeKind
	unit int
	key  any
}

// planText is a plan's arguments on one day, encoded once.
type planText struct {
	day  int
	text wireText
}

// planFor returns the plan for amounts.
func (w *wiredTerms) planFor(amounts *limit.Amounts) *plan {
	mask := 0
	for unit, n := range amounts {
		if n > 0 {
			mask |= 1 << unit
		}
	}
	if p := w.plans[mask].Load(); p != nil {
		return p
	}
	p := newPlan(w, amounts)
	w.plans[mask].Store(p)
	return p
}

func newPlan(w *wiredTerms, amounts *limit.Amounts) *plan {
	t := &w.terms
	p := &plan{rateSet: t.RateSet()}
	p.args = planArgs{Takes: strconv.Itoa(int(p.rateSet)), Shadow: t.Shadow, Tasks: t.Tasks, Rates: [][3]any{}, Inner: []innerArgs{}}
	for unit, n := range amounts {
		if n > 0 {
			p.units = append(p.units, unit)
		}
	}
	for i := range w.rates {
		if r := &w.rates[i]; amounts[r.Unit-1] > 0 {
			p.rates = append(p.rates, planRate{r.rate, r.kind, r.Unit - 1, r.key})
			p.args.Rates = append(p.args.Rates, [3]any{r.Text, limit.FullIn(r.rate), strconv.FormatInt(r.Keep, 10)})
		}
	}
	p.args.Quotas, _ = p.quotasOf(&t.Scope)
	for k := range t.Inner {
		if scope := &t.Inner[k]; scope.Quoted {
			quotas, set := p.quotasOf(scope)
			p.inner = append(p.inner, planScope{scope.Kind, set})
			p.args.Inner = append(p.args.Inner, innerArgs{innerKeys[scope.Kind], cmp.Or(scope.Name, inText), quotas})
		}
	}
	return p
}

// quotasOf lists the quotas of day and month of each unit, "" for none, and the places of those that are set.
func (p *plan) quotasOf(s *limit.Scope) (quotas []any, set []int) {
	quotas = []any{}
	for at := range 2 * len(p.units) {
		if most := s.Quotas[p.quota(at)]; most != limit.None {
			quotas, set = append(quotas, most), append(set, at)
		} else {
			quotas = append(quotas, "")
		}
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

// on returns the plan's arguments on a day.
func (p *plan) on(day *today) *wireText {
	if t := p.onDay.Load(); t != nil && t.day == day.Day {
		return &t.text
	}
	args := p.args
	args.Day, args.Month, args.Start, args.Fields = strconv.Itoa(day.Day), strconv.Itoa(day.Month), day.Start.UnixMicro(), p.fields(day.Day)
	t := &planText{day: day.Day}
	t.text, _ = json.Marshal(args) // numbers and texts
	p.onDay.Store(t)
	return &t.text
}

// fields returns the fields of the hash of quotas on a day: what is held, then of each quota what is used and set aside.
func (p *plan) fields(day int) []string {
	held, used := []string{}, []string{}
	for at, most := range p.args.Quotas {
		q := p.quota(at)
		if held = append(held, fieldOf(day, q, ":held")); most != "" {
			used = append(used, fieldOf(day, q, ":used"), fieldOf(day, q, ":aside"))
		}
	}
	return append(held, used...)
}

// fieldOf is a field of the hash of quotas, by the number of the quota.
func fieldOf(day, quota int, of string) string {
	return strconv.Itoa(periodOf(day, quota)) + ":" + string(teams.Units[quota/2]) + of
}

// quota is the number of the quota that has a place in a list of day and month of each unit charged.
func (p *plan) quota(at int) int { return 2*p.units[at/2] + at%2 }

// limit is the number of the limit that admit.lua finds at fault: the rates, the tasks, and the quotas of each scope have numbers from 1.
func (p *plan) limit(fault int) int {
	quota, width := fault-len(p.rates)-2, len(p.args.Quotas)
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
	before int // the day before, yyyymmdd
}

// dayNow keeps the current day.
type dayNow struct{ kept atomic.Pointer[today] }

// at is the day of a moment.
func (d *dayNow) at(now time.Time) *today {
	if t := d.kept.Load(); t != nil && !now.Before(t.Start) && now.Before(t.End[0]) {
		return t
	}
	c := limit.CalendarOf(now)
	t := &today{c, limit.CalendarOf(c.Start.AddDate(0, 0, -1)).Day}
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
