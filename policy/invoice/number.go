package invoice

import (
	"math/big"
	"regexp"
	"strings"

	"sluice/policy/unit"
)

// number is exact: whole units, billionths of one, and a fraction for further digits. The zero number is 0.
type number struct {
	whole, billionths int64
	finer             *big.Rat // nil: 0
}

const billion = 1_000_000_000

// mostSum bounds a line and the sum of an item. A bill has at most twice as much money.
const mostSum = unit.Most << 8

// plus adds numbers, each of which is bounded so that the sum of a few does not overflow.
func (n number) plus(o number) number {
	sum := n.billionths + o.billionths
	n.whole += o.whole + sum/billion
	n.billionths = sum % billion
	switch {
	case n.finer == nil:
		n.finer = o.finer
	case o.finer != nil:
		n.finer = new(big.Rat).Add(n.finer, o.finer)
	}
	return n
}

// rounded is the nearest whole number; half a unit is rounded away from 0.
func (n number) rounded() int64 {
	if n.finer == nil && n.billionths == 0 {
		return n.whole
	}
	sum := new(big.Rat).Add(new(big.Rat).SetInt64(n.whole), big.NewRat(n.billionths, billion))
	if n.finer != nil {
		sum.Add(sum, n.finer)
	}
	nearest, _ := new(big.Int).SetString(sum.FloatString(0), 10)
	return nearest.Int64()
}

// numberForm bounds numbers and their exponents, because an unbounded one could take all of the process's memory.
var numberForm = regexp.MustCompile(`^-?[0-9]{0,30}(\.[0-9]{0,30})?([eE][-+]?[0-9]{1,2})?$`)

// readNumber reads a number times a factor, in units with that many decimals. It reports false for text that is not a
// number, and for one beyond mostSum.
func readNumber(text string, factor int64, digits int) (n number, ok bool) {
	text = strings.TrimSpace(text)
	if n, ok := plain(text, factor, digits); ok {
		return n, true
	}
	if !numberForm.MatchString(text) {
		return n, false
	}
	rest, ok := new(big.Rat).SetString(text)
	if !ok {
		return n, false
	}
	rest.Mul(rest, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)))
	rest.Mul(rest, new(big.Rat).SetInt64(factor))
	whole := new(big.Int).Quo(rest.Num(), rest.Denom())
	if rest.Sub(rest, new(big.Rat).SetInt(whole)); rest.Sign() != 0 {
		n.finer = rest
	}
	n.whole = whole.Int64()
	return n, whole.IsInt64() && max(n.whole, -n.whole) <= mostSum
}

// plain reads the form of nearly all numbers: few digits, maybe with a point, and without an exponent.
func plain(text string, factor int64, digits int) (n number, ok bool) {
	unsigned, negative := strings.CutPrefix(text, "-")
	if unsigned == "" || len(unsigned) > 12 || factor > 1000 {
		return n, false
	}
	value, behind := int64(0), -1
	for _, c := range []byte(unsigned) {
		switch {
		case c == '.' && behind < 0:
			behind = 0
			continue
		case c < '0' || c > '9':
			return n, false
		case behind >= 0:
			behind++
		}
		value = value*10 + int64(c-'0')
	}
	if behind >= 0 && len(unsigned) == 1 { // only a point
		return n, false
	}
	if value *= factor; negative { // below 10¹⁵
		value = -value
	}
	return shift(value, digits-max(behind, 0))
}

// shift moves a number's point by some digits to the right, or by at most nine to the left.
func shift(value int64, by int) (n number, ok bool) {
	for ; by > 0; by-- {
		if max(value, -value) > mostSum/10 {
			return n, false
		}
		value *= 10
	}
	part := int64(billion)
	for ; by < 0; by++ {
		if part /= 10; part == 0 {
			return n, false
		}
	}
	ones := billion / part
	return number{whole: value / ones, billionths: value % ones * part}, true
}
