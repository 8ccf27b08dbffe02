package limit

import (
	"strings"

	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Amounts is an amount of each unit, in the order of the table of units.
type Amounts = unit.Amounts

// The units as indices of Amounts.
const (
	Requests = unit.Requests
	Tokens   = unit.Tokens
	Images   = unit.Images
	Spend    = unit.Spend
)

// UnitIndex is a unit's index in Amounts; -1: there is no such unit.
func UnitIndex(u teams.Unit) int { return unit.Index(u) }

// Written is an amount of a unit as people write it: spend in the currency, without zeros at its end; the rest as a
// whole number.
func Written(u teams.Unit, n int64) string { return unit.Written(u, n) }

// ReadAmount reads what Written writes, with a sign or without, and fractions also with an exponent, as programs write small numbers
// in JSON. It reports false for anything else: a part of a unit, of money a part of 10⁻⁹, or a number beyond what is counted exactly.
func ReadAmount(u teams.Unit, text string) (n int64, ok bool) {
	places := 0
	if i := unit.Index(u); i >= 0 {
		places = unit.Table[i].Decimals
	}
	if places == 0 && strings.ContainsAny(text, "eE") {
		return 0, false
	}
	return teams.Decimal(text, places)
}
