package teams

import (
	"regexp"
	"strconv"
	"strings"
)

var decimalForm = regexp.MustCompile(`^([+-]?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]+))?$`)

// Decimal reads a number as a whole number of its last decimal place, so that 1.5 with nine decimals is 1,500,000,000, and so is 15e-1:
// every JSON number, also with a plus sign or without digits on one side of the point. It reads the digits, because no float is
// exactly 0.1, and reports false for a part of the last place and beyond ±MaxAmount. The time it takes grows with the text alone,
// whatever the exponent.
func Decimal(text string, decimals int) (n int64, ok bool) {
	parts := decimalForm.FindStringSubmatch(text)
	if parts == nil || parts[2]+parts[3] == "" {
		return 0, false
	}
	digits := strings.TrimLeft(parts[2]+parts[3], "0")
	if digits == "" {
		return 0, true
	}
	exponent := 0
	if parts[4] != "" {
		var err error
		if exponent, err = strconv.Atoi(parts[4]); err != nil || exponent > len(text)+len(maxDigits) || exponent < -len(text)-decimals {
			return 0, false // no digits of this text make up for it
		}
	}
	short := strings.TrimRight(digits, "0")
	zeros := exponent + decimals - len(parts[3]) + len(digits) - len(short)
	if zeros < 0 || len(short)+zeros > len(maxDigits) {
		return 0, false
	}
	n, err := strconv.ParseInt(parts[1]+short+strings.Repeat("0", zeros), 10, 64)
	return n, err == nil && n >= -MaxAmount && n <= MaxAmount
}

// maxDigits are those of MaxAmount.
var maxDigits = strconv.FormatInt(MaxAmount, 10)
