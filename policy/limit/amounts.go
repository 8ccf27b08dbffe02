package limit

import "sluice/policy/teams"

// Amounts is an amount of each unit, in the order of [teams.Units]: requests, tokens, images, and spend in 10⁻⁹ of
// the teams file's currency. Amounts are never negative.
type Amounts [len(teams.Units)]int64

// The units as indices of Amounts, in the order of [teams.Units].
const (
	Requests = iota
	Tokens
	Images
	Spend
)

// Valid reports whether every amount can be counted exactly.
func (a Amounts) Valid() bool {
	for _, n := range a {
		if n < 0 || n > teams.MaxAmount {
			return false
		}
	}
	return true
}

// Bound brings every amount into the range that is counted exactly, so that a wrong number from upstream cannot
// stop a settlement.
func (a Amounts) Bound() Amounts {
	for i, n := range a {
		a[i] = min(max(n, 0), teams.MaxAmount)
	}
	return a
}

// Plus adds amounts.
func (a Amounts) Plus(b Amounts) Amounts {
	for i := range a {
		a[i] += b[i]
	}
	return a
}

// AtMost is the smaller of two amounts of each unit.
func (a Amounts) AtMost(b Amounts) Amounts {
	for i := range a {
		a[i] = min(a[i], b[i])
	}
	return a
}

// Minus subtracts amounts.
func (a Amounts) Minus(b Amounts) Amounts {
	for i := range a {
		a[i] -= b[i]
	}
	return a
}
