package limit

import (
	"context"

	"sluice/policy/event"
)

// reaching is what of the quotas of a charge may be told once it is made: reached.lua is the form of this in Redis.
type reaching struct {
	of     *account
	id     string
	list   []Thresholds
	before []int64 // used of each
	to     []event.Target
}

// reachingOf notes what is used before a charge is made. The account's lock is held.
func reachingOf(a *account, c *Charge) (r reaching) {
	if a.in.Events == nil {
		return r
	}
	all, to := a.in.Alerts.For(c.Held.Team, c)
	if len(all) == 0 {
		return r
	}
	date := a.date.at(a.last)
	for _, t := range all {
		if t.Period == date.Period(t.Quota) { // nobody is told of periods that are over
			r.list = append(r.list, t)
		}
	}
	r.of, r.id, r.to = a, c.Held.Team, to
	r.before = r.used()
	return r
}

func (r *reaching) used() (all []int64) {
	for i := range r.list {
		var b Balance
		t, kind := &r.list[i], r.list[i].Scope
		name := ""
		if t.Inside() {
			name = t.Of
		} else {
			kind = ScopeTeam // the whole account
		}
		r.of.books[kind].read(&r.of.date, name, kind == ScopeKey, &b)
		all = append(all, b.Used[t.Quota])
	}
	return all
}

// tell tells of each per cent that the charge has passed, once, and again with a larger limit. The account's lock is held.
func (r *reaching) tell() {
	if len(r.list) == 0 {
		return
	}
	for i, used := range r.used() {
		t := &r.list[i]
		for _, percent := range t.Percent {
			if least := t.Least(percent); r.before[i] < least && least <= used {
				n := event.Name{Owner: r.id, Name: t.Name(percent), Limit: t.Limit, Again: true}
				_, _ = r.of.in.Events.Once(context.Background(), n, t.Draft(r.id, percent, used, r.to)) // it never fails
			}
		}
	}
}
