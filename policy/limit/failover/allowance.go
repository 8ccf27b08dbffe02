package failover

import (
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
)

// The sizes of allowances; docs/limits.md explains them.
const (
	allowancePart  = 50               // an allowance is 1/50 of what is left, or what its replica used in allowanceUse if that is more
	allowanceUse   = 30 * time.Second // how long ago use still counts
	allowancesPart = 10               // all allowances of a team together are at most 1/10 of what is left
	allowanceIdle  = time.Minute      // a team that was idle for this time has none
)

const (
	renewEvery = 10 * time.Second // between two renewals of a team's allowances
	renewLeast = 30 * time.Second // between two renewals if one would change little
	// renewPart is the largest change that counts as little: 1/4 of the wanted size.
	renewPart = 4
	// renewBatch is how many running requests one renewal reports, and how many renewals one round trip has, so that no call
	// blocks Redis for long.
	renewBatch = 100
	// driftPart is how much slower than Redis's clock a process's may run while an allowance is spent: 1/100.
	driftPart = 100
)

// allowance is the amount that Redis has set aside for one team at this replica on one day. Redis always has at least
// as much set aside as the sum of the amounts left here, lent to calls under way, and spent here but not posted. Every
// step keeps this true, even if a call's reply is lost or the call is executed late.
type allowance struct {
	day   int          // yyyymmdd, in UTC, in which it counts
	field any          // its name in Redis, converted once
	terms *limit.Terms // whose quotas count
	until time.Time    // spending ends, by this process's clock
	left  limit.Stock  // may be spent or lent; below 0 if a request used more than it held
	lent  limit.Stock  // to calls that have not been answered
}

// allowances are the allowances of one team. The lock of its books is held.
type allowances []*allowance

// on returns the allowance of a day, or nil.
func (all allowances) on(day int) *allowance {
	for _, a := range all {
		if a.day == day {
			return a
		}
	}
	return nil
}

// exceed reports whether an allowance is much larger than wanted, and so withheld from other replicas.
func (all allowances) exceed(wants map[int]limit.Stock) bool {
	for _, a := range all {
		for i, n := range wants[a.day] {
			if a.left[i]+a.lent[i] > n+n/renewPart {
				return true
			}
		}
	}
	return false
}

// serve reports whether a renewal would change little: no allowance is much smaller than wanted.
func (all allowances) serve(wants map[int]limit.Stock) bool {
	if len(all) != len(wants) {
		return false
	}
	for day, want := range wants {
		a := all.on(day)
		if a == nil {
			return false
		}
		for i, n := range want {
			if a.left[i]+a.lent[i] < n-n/renewPart {
				return false
			}
		}
	}
	return true
}

// loan is the part of an allowance that one call may take.
type loan struct {
	from  *allowance // nil: nothing is lent
	terms *limit.Terms
	redisstore.Loan
}

// lend lends a call the most that it may take.
func (a *allowance) lend(want limit.Stock) loan {
	of := want.AtMost(a.left)
	a.left, a.lent = a.left.Minus(of), a.lent.Plus(of)
	return loan{a, a.terms, redisstore.Loan{Name: a.field, Most: of}}
}

// lowered reports whether a limit is lower now than when the allowance was set aside as a part of it.
func (l *loan) lowered(now *limit.Terms) bool {
	if l.from == nil {
		return false
	}
	below := func(n, m int64) bool { return n != limit.None && (m == limit.None || n < m) }
	for q, most := range now.Quotas {
		if below(most, l.terms.Quotas[q]) {
			return true
		}
	}
	return below(now.Tasks, l.terms.Tasks)
}

// end ends a loan of which an amount was taken.
func (l *loan) end(took limit.Stock) {
	if l.from != nil {
		l.from.lent = l.from.lent.Minus(l.Most)
		l.from.left = l.from.left.Plus(l.Most).Minus(took)
		*l = loan{}
	}
}

// giveBack returns to the allowance the unused part of a loan. A request that used more leaves a debt.
func (a *allowance) giveBack(took, used limit.Stock) {
	for i := range a.left {
		if a.counts(i) {
			a.left[i] += took[i] - used[i]
		}
	}
}

// counts reports whether the allowance covers a unit, or the open tasks.
func (a *allowance) counts(i int) bool { return a.terms != nil && a.terms.Counts(i) }

// shrinkTo lowers an allowance to its size, and returns what Redis has to set aside for it.
func (a *allowance) shrinkTo(size limit.Stock, now time.Time) limit.Stock {
	if !now.Before(a.until) {
		size = limit.Stock{} // Redis has set nothing aside since the lease ended
	}
	for i := range a.left {
		a.left[i] = min(a.left[i], max(size[i]-a.lent[i], 0))
	}
	var kept limit.Stock
	for i := range kept {
		kept[i] = max(a.left[i], 0) + a.lent[i]
	}
	return kept
}

// allowanceSize is the size of a new allowance: left is the amount that the team has left, None if there is no limit;
// used is this replica's recent use.
func allowanceSize(left, used limit.Stock, replicas int64) (size limit.Stock) {
	for i, n := range left {
		if n != limit.None {
			size[i] = min(max(n/allowancePart, used[i]), n/allowancesPart/max(replicas, 1))
		}
	}
	return size
}

// recent is the use in the last [allowanceUse], in two halves: the current one and the one before.
type recent struct {
	begun  time.Time
	halves [2]limit.Stock
}

func (r *recent) add(n limit.Stock, now time.Time) {
	r.rotate(now)
	r.halves[0] = r.halves[0].Plus(n)
}

func (r *recent) sum(now time.Time) limit.Stock {
	r.rotate(now)
	return r.halves[0].Plus(r.halves[1])
}

// rotate makes the current half the older one when its time is over.
func (r *recent) rotate(now time.Time) {
	const half = allowanceUse / 2
	switch since := now.Sub(r.begun); {
	case since < half:
	case since < 2*half:
		r.begun, r.halves = r.begun.Add(half), [2]limit.Stock{{}, r.halves[0]}
	default:
		*r = recent{begun: now}
	}
}
