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

// ReadAmount reads what Written writes, with a sign or without. It reports false for anything else: a part of a
// unit, more than nine decimals, or a number beyond what is counted exactly.
func ReadAmount(unit teams.Unit, text string) (n int64, ok bool) {
	r, ok := new(big.Rat).SetString(text)
	if !ok || strings.ContainsAny(text, "eEpPxX/_") {
		return 0, false
	}
	if unit == teams.UnitSpend {
		r.Mul(r, big.NewRat(teams.Nano, 1))
	}
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	n = r.Num().Int64()
	return n, n >= -teams.MaxAmount && n <= teams.MaxAmount
}
