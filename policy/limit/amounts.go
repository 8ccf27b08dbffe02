package limit

import "sluice/policy/teams"

// Amounts is an amount of each unit, in the order of [teams.Units]: requests, tokens, images, and spend in 10⁻⁹ of
// the teams file's currency. Amounts are never negative.
type Amounts [4]int64

// The units as indices of Amounts.
const (
	Requests = iota
	Tokens
	Images
	Spend
)

// valid reports whether every amount can be counted exactly.
func (a Amounts) valid() bool {
	for _, n := range a {
		if n < 0 || n > teams.MaxAmount {
			return false
		}
	}
	return true
}

// bound brings every amount into the range that is counted exactly, so that a number that upstream made up cannot
// stop a settlement.
func (a Amounts) bound() Amounts {
	for i, n := range a {
		a[i] = min(max(n, 0), teams.MaxAmount)
	}
	return a
}

func (a Amounts) plus(b Amounts) Amounts {
	for i := range a {
		a[i] += b[i]
	}
	return a
}

// atMost is the smaller of each.
func (a Amounts) atMost(b Amounts) Amounts {
	for i := range a {
		a[i] = min(a[i], b[i])
	}
	return a
}

func (a Amounts) minus(b Amounts) Amounts {
	for i := range a {
		a[i] -= b[i]
	}
	return a
}
