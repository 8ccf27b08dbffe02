package limit

import (
	"math/big"
	"strconv"
	"strings"

	"sluice/policy/teams"
)

// Written is an amount of a unit as people write it: spend in the currency, without zeros at its end; the rest as a
// whole number.
func Written(unit teams.Unit, n int64) string {
	if unit != teams.UnitSpend {
		return strconv.FormatInt(n, 10)
	}
	text := big.NewRat(n, teams.Nano).FloatString(9)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// ReadAmount reads what Written writes, with a sign or without, and spend also with an exponent, as programs write small numbers
// in JSON. It reports false for anything else: a part of a unit, of money a part of 10⁻⁹, or a number beyond what is counted exactly.
func ReadAmount(unit teams.Unit, text string) (n int64, ok bool) {
	if unit == teams.UnitSpend {
		return teams.Decimal(text, 9)
	}
	if strings.ContainsAny(text, "eE") {
		return 0, false
	}
	return teams.Decimal(text, 0)
}
