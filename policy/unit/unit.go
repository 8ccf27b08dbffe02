// Package unit has the table of the units that limits count and the ledger reports. Code that walks the table needs no
// change for another unit.
package unit

import (
	"slices"
	"strconv"
	"strings"
)

// Name is the name of a unit, in letters only: scripts and fields in Redis use it unchanged.
type Name string

// Title is the name with a capital.
func (n Name) Title() string { return strings.ToUpper(string(n[:1])) + string(n[1:]) }

// The names that code uses.
const (
	NameRequests Name = "requests"
	NameTokens   Name = "tokens"
	NameImages   Name = "images"
	NameSpend    Name = "spend"
)

// Unit is a row of the table.
type Unit struct {
	Name      Name
	Rate      bool  // teams, keys and the upstream account may have a token bucket of it
	Estimated bool  // a request's use is estimated; the estimate is cut to a quarter of each bucket and quota
	AtOnce    int64 // what one request may make of it, such as images: no replica's share of a bucket is smaller; 0: none
	Money     bool  // amounts are decimal fractions of the currency: see [Money]

	Charged string // description of the metric "sluice.<name>" of the amounts that were charged; empty: other metrics have them
	UCUM    string // that metric's unit in the Unified Code for Units of Measure; empty: none
}

// The units as indices of Table and of Amounts. Append new ones: Redis keeps amounts in this order.
const (
	Requests = iota
	Tokens
	Images
	Spend // money, in the teams file's currency: see [Money]
)

// Table has every unit in the order in which limits and reports name them.
var Table = [...]Unit{
	Requests: {Name: NameRequests, Rate: true},
	Tokens:   {Name: NameTokens, Rate: true, Estimated: true},
	Images:   {Name: NameImages, Rate: true, AtOnce: 5, Charged: "images that were charged", UCUM: "{image}"},
	Spend:    {Name: NameSpend, Estimated: true, Money: true, Charged: "money that was charged, in the teams file's currency"},
}

// Count is how many units there are.
const Count = len(Table)

// Names are the names of Table.
var Names = func() (names [Count]Name) {
	for i := range Table {
		names[i] = Table[i].Name
	}
	return names
}()

// Index is a unit's index; -1: no unit has that name.
func Index(name Name) int { return slices.Index(Names[:], name) }

// Most is the largest amount of any unit, 2⁵³ − 1: the state keeps numbers that are exact only up to there.
const Most = 1<<53 - 1

// Amounts is an amount of each unit. Amounts are never negative.
type Amounts [Count]int64

// Valid reports whether every amount can be counted exactly.
func (a Amounts) Valid() bool {
	for _, n := range a {
		if n < 0 || n > Most {
			return false
		}
	}
	return true
}

// Units names the units of which there is an amount, by bits.
func (a *Amounts) Units() (set uint) {
	for i, n := range a {
		if n > 0 {
			set |= 1 << i
		}
	}
	return set
}

// Make reports whether the amounts include something that requests make, such as images: then the request's money is
// exact.
func (a *Amounts) Make() bool {
	for i, n := range a {
		if n > 0 && Table[i].AtOnce > 0 {
			return true
		}
	}
	return false
}

// Bound brings every amount into the range that is counted exactly, so that a wrong number from upstream cannot
// stop a settlement.
func (a Amounts) Bound() Amounts {
	for i, n := range a {
		a[i] = min(max(n, 0), Most)
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

// Noun is the noun for n of something, given its plural: request for 1, else requests.
func Noun(n int64, several string) string {
	if n != 1 && n != -1 {
		return several
	}
	if stem, found := strings.CutSuffix(several, "ies"); found { // entries
		return stem + "y"
	}
	return strings.TrimSuffix(several, "s")
}

// Grouped is a whole number with commas: 12,345.
func Grouped(n int64) string {
	digits, negative := strings.CutPrefix(strconv.FormatInt(n, 10), "-")
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	if negative {
		return "-" + digits
	}
	return digits
}
