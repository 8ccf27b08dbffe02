package failover

import (
	"time"

	"sluice/policy/limit"
	"sluice/policy/limit/redisstore"
)

// The sizes of allowances. README and docs/limits.md say what they come to.
const (
	allowancePart  = 50               // an allowance is at least one part in so many of what is left,
	allowanceUse   = 30 * time.Second // or what this replica used in so long, where that is more,
	allowancesPart = 10               // and all of them together are never more than one part in so many
	allowanceIdle  = time.Minute      // a team that was idle for so long has none
)

const (
	renewEvery = 10 * time.Second // the allowances of a team,
	renewLeast = 30 * time.Second // or as late as this, where that would change little
	// renewPart is how much little is: an allowance differs from the size that it is to have by one part in so many at most.
	renewPart = 4
	// renewBatch is how many requests that run a renewal has held, and how many renewals go together, so that no call keeps
	// Redis from others for long.
	renewBatch = 100
	// driftPart is by how much a process's clock may run slower than Redis's while an allowance is spent: one part in so many.
	driftPart = 100
)

// allowance is what Redis has set aside for one team at this replica on one day. What Redis holds for it is never less
// than what is left here, what is lent to calls under way, and what was spent here and not posted: every step keeps it
// so, also where a call's reply is lost or the call is executed late.
type allowance struct {
	day   int          // yyyymmdd, in UTC, in which it counts
	field any          // its name in Redis, boxed once
	terms *limit.Terms // whose quotas count
	until time.Time    // spending ends, by this process's clock
	left  limit.Stock  // may be spent or lent; below 0 where a request used more than it held
	lent  limit.Stock  // to calls that have not been answered
}

// loan is what one call may take of an allowance.
type loan struct {
	from *allowance // nil: nothing is lent
	redisstore.Loan
}

// lend lends a call what it may take at most.
func (a *allowance) lend(want limit.Stock) loan {
	of := want.AtMost(a.left)
	a.left, a.lent = a.left.Minus(of), a.lent.Plus(of)
	return loan{a, redisstore.Loan{Name: a.field, Most: of}}
}

// end ends a loan of which so much was taken.
func (l *loan) end(took limit.Stock) {
	if l.from != nil {
		l.from.lent = l.from.lent.Minus(l.Most)
		l.from.left = l.from.left.Plus(l.Most).Minus(took)
		*l = loan{}
	}
}

// giveBack puts back what a request took and did not use. One that used more leaves a debt.
func (a *allowance) giveBack(took, used limit.Stock) {
	for i := range a.left {
		if a.counts(i) {
			a.left[i] += took[i] - used[i]
		}
	}
}

// counts reports whether it is an allowance of a unit, or of tasks.
func (a *allowance) counts(i int) bool { return a.terms != nil && a.terms.Counts(i) }

// covers reports whether a loan is as much as a request of a day asks of what is counted, and may still be spent.
func (l *loan) covers(want limit.Stock, counted *limit.Terms, day int, now time.Time) bool {
	for i, n := range want {
		if n == 0 || !counted.Counts(i) {
			continue
		}
		if l.from == nil || l.from.day != day || l.Most[i] < n || !now.Before(l.from.until) {
			return false
		}
	}
	return true
}

// keep lowers an allowance to its size, and returns what of it Redis has to set aside.
func (a *allowance) keep(size limit.Stock, now time.Time) limit.Stock {
	if !now.Before(a.until) {
		size = limit.Stock{} // nothing was set aside any more when the lease had ended
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

// allowanceSize is how large an allowance is to be: left is what the team has left in all, none of what is not limited;
// used is what this replica used of late.
func allowanceSize(left, used limit.Stock, replicas int64) (size limit.Stock) {
	for i, n := range left {
		if n != limit.None {
			size[i] = min(max(n/allowancePart, used[i]), n/allowancesPart/max(replicas, 1))
		}
	}
	return size
}

// recent is what was used in the last [allowanceUse], in two halves: the running one and the one before.
type recent struct {
	begun  time.Time
	halves [2]limit.Stock
}

func (r *recent) add(n limit.Stock, now time.Time) {
	r.turn(now)
	r.halves[0] = r.halves[0].Plus(n)
}

func (r *recent) sum(now time.Time) limit.Stock {
	r.turn(now)
	return r.halves[0].Plus(r.halves[1])
}

func (r *recent) turn(now time.Time) {
	const half = allowanceUse / 2
	switch since := now.Sub(r.begun); {
	case since < half:
	case since < 2*half:
		r.begun, r.halves = r.begun.Add(half), [2]limit.Stock{{}, r.halves[0]}
	default:
		*r = recent{begun: now}
	}
}
