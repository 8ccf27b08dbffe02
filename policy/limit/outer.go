package limit

import (
	"slices"
	"sync/atomic"
	"time"

	"sluice/policy"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Rated are the scopes outside of the team that have rates, which come first.
func (h *Hold) Rated() []Scope { return h.Outside[:h.firstCounted()] }

// counted are the scopes outside of the team that have quotas.
func (h *Hold) counted() []Scope { return h.Outside[h.firstCounted():] }

func (h *Hold) firstCounted() int {
	i := len(h.Outside)
	for i > 0 && h.Outside[i-1].Document != nil {
		i--
	}
	return i
}

// Outer returns the request's holds in accounts outside of the team; nil: none. Each has the id of the team's hold, and counts every
// unit, so that a quota that is added later knows the use before it.
func (h *Hold) Outer() (all []Hold) {
	scopes := h.counted()
	if len(scopes) == 0 {
		return nil
	}
	all = make([]Hold, len(scopes))
	for i := range scopes {
		s, o := &scopes[i], &all[i]
		o.ID, o.Team, o.Endpoint, o.Amounts, o.Task, o.Lease = h.ID, s.Document, policy.EndpointOther, h.holds(s), h.Task, h.Lease
	}
	return all
}

// OnAccount is the hold as it is placed. Its id names the account unless that is main. So a request whose hold was given
// back on one account can be admitted on another. [RequestOf] is the id of the request. Its estimates are cut to the quotas outside of the
// team: if it is charged as held, the ledger has what the house has.
func (h *Hold) OnAccount() *Hold {
	mark, amounts := AccountMark(h.Account), h.Amounts
	for i := range h.counted() {
		amounts = amounts.AtMost(h.holds(&h.counted()[i]))
	}
	if mark == "" && amounts == h.Amounts {
		return h
	}
	placed := *h
	placed.ID += mark
	placed.Amounts, placed.Text = amounts, h.Text+amounts[Spend]-h.Amounts[Spend]
	return &placed
}

// holds is what the hold takes of a scope's quotas. An estimate is cut to a quarter of each quota, so that none is too large to pass;
// the price of images is exact.
func (h *Hold) holds(s *Scope) Amounts {
	a := h.Amounts
	for q, most := range s.Quotas {
		if u := q / 2; most != None && unit.Table[u].Estimated {
			a[u] = max(min(a[u], max(most/4, 1)), h.exact(u))
		}
	}
	return a
}

// AddOuter adds the hold that another process placed together with this one, in the house or in the quotas of its account.
func (h *Held) AddOuter(k ScopeKind) {
	h.Outer = append(h.Outer, &Held{
		ID: h.ID, Team: outsideID(k, h.Account), Endpoint: policy.EndpointOther, Amounts: h.Amounts, Day: h.Day, Month: h.Month, Task: h.Task,
	})
}

// In reports whether the request is also held in the house, or in the quotas of its account.
func (h *Held) In(k ScopeKind) bool { return h.alsoIn(outsideID(k, h.Account)) }

func (h *Held) alsoIn(id string) bool {
	return slices.ContainsFunc(h.Outer, func(o *Held) bool { return o.Team == id })
}

// outsideID is the id of the account outside of the teams that holds the quotas of a kind of scopes.
func outsideID(k ScopeKind, account string) string {
	if k == ScopeHouse {
		return teams.HouseID
	}
	return teams.AccountQuotasID(AccountName(account))
}

// Uncounted calls note with the id of the house if it has no quotas, and with that of the hold's account at the service if that has none.
func (h *Hold) Uncounted(note func(id string)) {
	var counts [ScopeHouse + 1]bool
	for i := range h.counted() {
		counts[h.counted()[i].Kind] = true
	}
	if !counts[ScopeHouse] {
		note(teams.HouseID)
	}
	if h.Account != "" && !counts[ScopeAccount] {
		note(teams.AccountQuotasID(h.Account))
	}
}

// AsTask is the hold as a task's, which is remembered for longer, because another replica may see the task's end.
func (h *Held) AsTask() *Held {
	task := *h
	task.Task, task.Outer = true, make([]*Held, len(h.Outer))
	for i, o := range h.Outer {
		task.Outer[i] = o.AsTask()
	}
	return &task
}

// Among returns the answer to a request by the verdicts of its accounts, the team's first, and the holds to give back: a request is
// held in all of its accounts or in none. If several limits refuse, it names the one with the longest wait, of equal waits the first.
// It may change the team's hold.
func Among(h *Hold, all []Verdict) (v *Verdict, back []*Held) {
	at := -1
	for i := range all {
		if all[i].Held == nil && (at < 0 || all[i].outlasts(&all[at])) {
			at = i
		}
	}
	if at < 0 {
		v = &all[0]
		v.Held.Outer = make([]*Held, len(all)-1)
		for i := range v.Held.Outer {
			v.Held.Outer[i] = all[1+i].Held
		}
		return v, nil
	}
	for i := range all {
		if all[i].Held != nil {
			back = append(back, all[i].Held)
		}
	}
	if v = &all[at]; at > 0 {
		v.refer(&h.counted()[at-1], h)
		v.Limits = all[0].Limits
		if all[0].Held != nil {
			v.Limits = h.givenBack(v.Limits)
		}
	}
	return v, back
}

// clocksApart is how far the clocks of a cluster's nodes may be apart.
const clocksApart = time.Second

// outlasts reports whether a refusal ends later than another one. Quotas of one period end together, although in a cluster each node
// computes the wait by its own clock.
func (v *Verdict) outlasts(other *Verdict) bool {
	apart := time.Duration(0)
	if v.Fault.Period != "" && other.Fault.Period != "" {
		apart = clocksApart
	}
	return v.Wait > other.Wait+apart
}

// refer sets the scope and the reason in a refusal by the house, or by an account at the service.
func (v *Verdict) refer(s *Scope, h *Hold) {
	v.Fault.Scope = s.Kind
	if s.Kind == ScopeAccount {
		v.Fault.Of = h.Account
	}
	switch {
	case v.Reason != ReasonQuota:
	case s.Kind == ScopeHouse:
		v.Reason = ReasonHouse
	case s.Kind == ScopeAccount:
		v.Reason = ReasonAccount
	}
}

// Release is the charge that gives a hold of the request back, which is the team's or in an account outside of it.
func (h *Hold) Release(held *Held) *Charge {
	if held.Document != nil {
		return &Charge{Held: held, Team: held.Document}
	}
	return &Charge{Held: held, Team: h.Team}
}

// Outer is the charge of one of the hold's outer holds.
func (c *Charge) Outer(h *Held) *Charge {
	return &Charge{Held: h, Team: h.Document, Amounts: c.Amounts, Estimated: c.Estimated}
}

// Parts returns a charge for each account that the hold is in, the team's first. Taken is called when all are made, with the team's
// result. A part that is given up counts as made; if it is the team's, Left reports that.
func (c *Charge) Parts() []*Charge {
	if len(c.Held.Outer) == 0 {
		return []*Charge{c}
	}
	own := *c
	held := *c.Held
	held.Outer, own.Held = nil, &held
	parts := []*Charge{&own}
	for _, h := range c.Held.Outer {
		parts = append(parts, c.Outer(h))
	}
	if c.Taken == nil {
		return parts
	}
	var open atomic.Int64
	var settled atomic.Bool
	open.Store(int64(len(parts)))
	taken := c.Taken
	end := func() {
		if open.Add(-1) == 0 {
			taken(settled.Load())
		}
	}
	own.Taken = func(first bool) { settled.Store(first); end() }
	for _, p := range parts[1:] {
		p.Taken, p.Left = func(bool) { end() }, end
	}
	return parts
}

// RefuseOutside turns an admission into a refusal by a rate outside of the team.
func (v *Verdict) RefuseOutside(rate teams.Rate, wait time.Duration, h *Hold) Verdict {
	refused := refusedOutside(rate, wait, h)
	refused.Limits = h.givenBack(v.Limits)
	return refused
}

// RefusedOutside reports whether a rate outside of the team refuses.
func (v *Verdict) RefusedOutside() bool { return v.Reason == ReasonAccount && v.Fault.Period == "" }

// OrOutside returns v, or instead the refusal by a rate outside of the team if its wait is longer than v's, or equal to that of a quota of
// the house.
func (v *Verdict) OrOutside(rate teams.Rate, wait time.Duration, h *Hold) Verdict {
	if wait == 0 || wait < v.Wait || wait == v.Wait && v.Fault.Scope != ScopeHouse {
		return *v
	}
	refused := refusedOutside(rate, wait, h)
	hidden := *v
	refused.Limits, refused.Hidden = v.Limits, &hidden
	return refused
}

func refusedOutside(rate teams.Rate, wait time.Duration, h *Hold) Verdict {
	fault := Standing{Unit: rate.Unit, Per: rate.PerText, Limit: rate.Limit, Window: rate.Per, Reset: wait, Scope: ScopeAccount, Of: h.Account}
	return Verdict{Reason: ReasonAccount, Fault: fault, Wait: wait, Asked: h.asked(&fault)}
}
