package limit

import (
	"strings"
	"time"

	"sluice/policy"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// AccountRate is one rate of the upstream account that a request is charged in.
type AccountRate struct {
	Name   string // the limit's models and the unit: a reload that moves the limit in the file does not change it
	Rate   teams.Rate
	Unit   int
	Amount int64 // what is taken
}

// AccountRates lists the rates that apply to the units of a hold, divided by the replicas. Of a unit that is estimated a hold takes no
// more than a quarter of the bucket.
func AccountRates(limits []teams.AccountLimit, amounts Amounts, replicas int) (list []AccountRate) {
	for _, l := range limits {
		for _, r := range l.Rates {
			u := UnitIndex(r.Unit)
			amount := amounts[u]
			if amount == 0 {
				continue
			}
			r := shareOf(r, int64(replicas))
			if unit.Table[u].Estimated {
				amount = min(amount, max(r.Burst/4, 1))
			}
			list = append(list, AccountRate{modelNames(l.Models) + ":" + string(r.Unit), r, u, amount})
		}
	}
	return list
}

func modelNames(patterns []policy.Pattern) string {
	names := make([]string, len(patterns))
	for i, p := range patterns {
		names[i] = string(p)
	}
	return strings.Join(names, ",")
}

// AccountFor picks the account's limits that apply to a model. It returns nil if none do.
func AccountFor(limits []teams.AccountLimit, model string) (list []teams.AccountLimit) {
	for _, l := range limits {
		if l.Models == nil || policy.MatchAny(l.Models, model) {
			list = append(list, l)
		}
	}
	return list
}

// takeAccount takes from all of the account's rates, or from none, and returns the rate with the longest wait. With force it takes
// even if a bucket is empty.
func (m *Memory) takeAccount(h *Hold, force bool, replicas int) (fault teams.Rate, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.time()
	list := AccountRates(h.Account, h.Amounts, replicas)
	for _, a := range list {
		b := m.bucket(a, now)
		if w := b.wait(a.Amount, b.missing(now)); w > wait && !force {
			fault, wait = a.Rate, w
		}
	}
	if wait == 0 {
		for _, a := range list {
			m.bucket(a, now).take(a.Amount, now)
		}
	}
	return fault, wait
}

func (m *Memory) correctAccount(c *Charge, replicas int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.time()
	for _, a := range AccountRates(c.Held.Account, c.Held.Amounts, replicas) {
		b := m.bucket(a, now)
		if over := c.Amounts.Bound()[a.Unit] - a.Amount; over > 0 {
			b.take(over, now)
		} else {
			b.give(-over, now)
		}
	}
}

// time returns a time that never goes back. The lock is held.
func (m *Memory) time() time.Time {
	if t := m.now(); t.After(m.last) {
		m.last = t
	}
	return m.last
}

func (m *Memory) bucket(a AccountRate, now time.Time) *bucket {
	b := m.own[a.Name]
	if b == nil {
		b = newBucket(a.Rate, m.dry.Load(), now)
		m.own[a.Name] = b
	}
	b.set(&a.Rate, now)
	return b
}

// RefuseAccount turns an admission into a refusal by the account.
func (v *Verdict) RefuseAccount(rate teams.Rate, wait time.Duration, h *Hold) Verdict {
	fault := Standing{Unit: rate.Unit, Per: rate.PerText, Limit: rate.Limit, Window: rate.Per, Reset: wait}
	for i := range v.Limits { // the hold is given back
		l := &v.Limits[i]
		l.Left += h.asked(l)
		if l.Period != "" {
			l.Held -= h.asked(l)
		}
	}
	return Verdict{Reason: ReasonAccount, Fault: fault, Wait: wait, Asked: h.asked(&fault), Limits: v.Limits}
}
