package invoice

import (
	"math/big"
	"regexp"
	"strings"

	"sluice/policy/unit"
)

// numberForm bounds numbers and their exponents: without that one could take the process's memory.
var numberForm = regexp.MustCompile(`^-?[0-9]{0,30}(\.[0-9]{0,30})?([eE][-+]?[0-9]{1,2})?$`)

// decimal reads a number times a factor, with so many digits behind the point, rounded half away from 0. It reports false for what
// is no number, or is beyond what the ledger counts exactly.
func decimal(text string, factor int64, digits int) (n int64, ok bool) {
	text = strings.TrimSpace(text)
	if n, ok := plain(text, factor, digits); ok {
		return n, true
	}
	if !numberForm.MatchString(text) {
		return 0, false
	}
	number, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, false
	}
	number.Mul(number, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)))
	number.Mul(number, new(big.Rat).SetInt64(factor))
	rounded, ok := new(big.Int).SetString(number.FloatString(0), 10)
	return rounded.Int64(), ok && rounded.IsInt64() && max(rounded.Int64(), -rounded.Int64()) <= unit.Most
}

// plain reads what nearly every number is: few digits, with a point and without an exponent.
func plain(text string, factor int64, digits int) (n int64, ok bool) {
	unsigned, negative := strings.CutPrefix(text, "-")
	if unsigned == "" || len(unsigned) > 12 || factor > 1000 {
		return 0, false
	}
	behind := -1
	for _, c := range []byte(unsigned) {
		switch {
		case c == '.' && behind < 0:
			behind = 0
			continue
		case c < '0' || c > '9':
			return 0, false
		case behind >= 0:
			behind++
		}
		n = n*10 + int64(c-'0')
	}
	if behind >= 0 && len(unsigned) == 1 { // a point alone
		return 0, false
	}
	n, ok = shift(n*factor, digits-max(behind, 0)) // the product is below 10¹⁵
	if negative {
		n = -n
	}
	return n, ok
}

// shift moves a number's point by some digits to the right, or by one to the left, which rounds.
func shift(n int64, by int) (int64, bool) {
	switch {
	case by < -1: // only the last digit that is dropped decides about rounding
		return 0, false
	case by == -1:
		return (n + 5) / 10, true
	}
	for range by {
		if n *= 10; n > unit.Most {
			return 0, false
		}
	}
	return n, true
}
