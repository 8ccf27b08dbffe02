package limit

import (
	"math/big"
	"strconv"
	"strings"

	"sluice/policy"
)

// Written is an amount of a unit as people write it: spend in the currency, without zeros at its end; the rest as a
// whole number.
func Written(unit policy.Unit, n int64) string {
	if unit != policy.UnitSpend {
		return strconv.FormatInt(n, 10)
	}
	text := big.NewRat(n, policy.Nano).FloatString(9)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// ReadAmount reads what Written writes, with a sign or without. It reports false for what is no amount: a part of a
// unit, more than nine decimals, or beyond what is counted exactly.
func ReadAmount(unit policy.Unit, text string) (n int64, ok bool) {
	r, ok := new(big.Rat).SetString(text)
	if !ok || strings.ContainsAny(text, "eEpPxX/_") {
		return 0, false
	}
	if unit == policy.UnitSpend {
		r.Mul(r, big.NewRat(policy.Nano, 1))
	}
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	n = r.Num().Int64()
	return n, n >= -policy.MaxAmount && n <= policy.MaxAmount
}
