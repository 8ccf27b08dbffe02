package unit

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Currency says how reports write money, also in JSON.
type Currency struct {
	Word  string `json:"currency"`                 // "CNY"; empty: reports show bare numbers
	Money Money  `json:"currency_digits,omitzero"` // absent: 9
}

// Money is the decimal fraction of the currency in which amounts of money are counted. Code that reads or writes an
// amount in the currency takes it from the teams file: the amounts themselves are integers, and no arithmetic depends
// on it. The zero Money counts in [Nanos].
type Money uint8

// The fractions.
const (
	Nanos  Money = iota // 10⁻⁹: the largest amount is 9,007,199
	Micros              // 10⁻⁶: the largest amount is 9,007,199,254
)

// moneys has the number of decimals of each Money.
var moneys = [...]int{Nanos: 9, Micros: 6}

// MoneyOf returns the Money with that many decimals: 9 or 6.
func MoneyOf(digits int) (m Money, ok bool) {
	for i, n := range moneys {
		if n == digits {
			return Money(i), true
		}
	}
	return Nanos, false
}

// Fixed returns the error for a file with this Money if amounts are already counted in another.
func (m Money) Fixed(in Money) error {
	if m == in {
		return nil
	}
	return fmt.Errorf("currency_digits: got %d, allowed: %d, which is fixed once anything was charged, and while a process runs", m.Digits(),
		in.Digits())
}

// MarshalJSON writes the digits.
func (m Money) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, int64(m.Digits()), 10), nil
}

// UnmarshalJSON reads them.
func (m *Money) UnmarshalJSON(text []byte) error {
	digits, err := strconv.Atoi(string(text))
	of, ok := MoneyOf(digits)
	if err != nil || !ok {
		return fmt.Errorf("currency_digits: got %q, allowed: 9 or 6", text)
	}
	*m = of
	return nil
}

// Digits is the number of decimals of an amount of money.
func (m Money) Digits() int { return moneys[m] }

// Parts is what one unit of the currency counts as: 1.50 is 1,500,000,000 of Nanos.
func (m Money) Parts() int64 { return power(m.Digits()) }

// Decimals is the number of decimals of an amount of a unit: 0 for every unit but money.
func (m Money) Decimals(name Name) int {
	if i := Index(name); i >= 0 && Table[i].Money {
		return m.Digits()
	}
	return 0
}

// Written is an amount of a unit as people write it: money in the currency, without trailing zeros; any other unit as
// a whole number.
func (m Money) Written(name Name, n int64) string {
	places := m.Decimals(name)
	if places == 0 {
		return strconv.FormatInt(n, 10)
	}
	text := big.NewRat(n, power(places)).FloatString(places)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// Read reads what Written writes, with or without a sign, and money also with an exponent, as programs write small
// numbers in JSON. It reports false for anything else: a fraction of a unit, or of money's last decimal, or a number
// too large to be counted exactly.
func (m Money) Read(name Name, text string) (n int64, ok bool) {
	n, ok = m.ReadSum(name, text)
	return n, ok && n >= -Most && n <= Most
}

// ReadSum is Read for what was used, which may be beyond what a limit counts.
func (m Money) ReadSum(name Name, text string) (n int64, ok bool) {
	places := m.Decimals(name)
	if places == 0 && strings.ContainsAny(text, "eE") {
		return 0, false
	}
	return decimal(text, places)
}

// InWhole is an amount as logs and traces show it: money in units of the currency.
func (m Money) InWhole(name Name, n int64) float64 {
	if places := m.Decimals(name); places > 0 {
		return float64(n) / math.Pow10(places)
	}
	return float64(n)
}

// Amount is the inverse of [Money.InWhole].
func (m Money) Amount(name Name, whole float64) int64 {
	return int64(math.Round(whole * math.Pow10(m.Decimals(name))))
}

// In converts an amount that is counted in another Money to this one, rounded up, and at most [Most].
func (m Money) In(other Money, n int64) int64 {
	from, to := other.Parts(), m.Parts()
	switch {
	case from <= to && n > Most/(to/from):
		return Most
	case from <= to:
		return n * (to / from)
	}
	return (n + from/to - 1) / (from / to)
}

var decimalForm = regexp.MustCompile(`^([+-]?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]+))?$`)

// decimal reads a number as a whole number of its last decimal place, so that 1.5 with nine decimals is 1,500,000,000, and so is
// 15e-1: every JSON number, also with a plus sign or without digits on one side of the point. It reads the digits, because no
// float is exactly 0.1, and reports false for a part of the last place and beyond 64 bits. Its time grows only with the text,
// whatever the exponent.
func decimal(text string, decimals int) (n int64, ok bool) {
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
		if exponent, err = strconv.Atoi(parts[4]); err != nil || exponent > len(text)+mostDigits || exponent < -len(text)-decimals {
			return 0, false // the text has too few digits to compensate for it
		}
	}
	short := strings.TrimRight(digits, "0")
	zeros := exponent + decimals - len(parts[3]) + len(digits) - len(short)
	if zeros < 0 || len(short)+zeros > mostDigits {
		return 0, false
	}
	n, err := strconv.ParseInt(parts[1]+short+strings.Repeat("0", zeros), 10, 64)
	return n, err == nil
}

// mostDigits bounds the digits of a number.
const mostDigits = len("9223372036854775807")

func power(places int) int64 {
	n := int64(1)
	for range places {
		n *= 10
	}
	return n
}
