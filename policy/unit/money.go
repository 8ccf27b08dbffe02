package unit

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Currency is how reports write money, in JSON, too.
type Currency struct {
	Word  string `json:"currency"`                 // "CNY"; empty: reports show bare numbers
	Money Money  `json:"currency_digits,omitzero"` // absent: 9
}

// Money is the part of the currency that amounts of money count in. Whoever reads or writes an amount in the currency has it from the teams
// file: the amounts themselves are integers, and no arithmetic depends on it. The zero Money counts in [Nanos].
type Money uint8

// The parts.
const (
	Nanos  Money = iota // 10⁻⁹: the largest amount is 9,007,199
	Micros              // 10⁻⁶: the largest amount is 9,007,199,254
)

// moneys are how many digits behind the point amounts have.
var moneys = [...]int{Nanos: 9, Micros: 6}

// MoneyOf returns the part with so many digits behind the point: 9 or 6.
func MoneyOf(digits int) (m Money, ok bool) {
	for i, n := range moneys {
		if n == digits {
			return Money(i), true
		}
	}
	return Nanos, false
}

// Fixed returns the fault of a file with this Money where amounts count in another already.
func (m Money) Fixed(in Money) error {
	if m == in {
		return nil
	}
	return fmt.Errorf("currency_digits: got %d, allowed: %d, which is fixed once anything was charged, and while a process runs", m.Digits(), in.Digits())
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

// Digits is how many digits behind the point amounts have.
func (m Money) Digits() int { return moneys[m] }

// Parts is how many parts the currency has: 1.50 is 1,500,000,000 of Nanos.
func (m Money) Parts() int64 { return power(m.Digits()) }

// Behind is how many digits an amount of a unit has behind the point.
func (m Money) Behind(name Name) int {
	if i := Index(name); i >= 0 && Table[i].Money {
		return m.Digits()
	}
	return 0
}

// Written is an amount of a unit as people write it: money in the currency, without zeros at its end; the rest as a whole number.
func (m Money) Written(name Name, n int64) string {
	places := m.Behind(name)
	if places == 0 {
		return strconv.FormatInt(n, 10)
	}
	text := big.NewRat(n, power(places)).FloatString(places)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// Read reads what Written writes, with a sign or without, and fractions also with an exponent, as programs write small numbers in JSON. It
// reports false for anything else: a part of a unit, of money a part of the last digit, or a number beyond what is counted exactly.
func (m Money) Read(name Name, text string) (n int64, ok bool) {
	places := m.Behind(name)
	if places == 0 && strings.ContainsAny(text, "eE") {
		return 0, false
	}
	return Decimal(text, places)
}

// InWhole is an amount as logs and traces show it: money in the currency.
func (m Money) InWhole(name Name, n int64) float64 {
	if places := m.Behind(name); places > 0 {
		return float64(n) / math.Pow10(places)
	}
	return float64(n)
}

// Amount is the inverse of [Money.InWhole].
func (m Money) Amount(name Name, whole float64) int64 {
	return int64(math.Round(whole * math.Pow10(m.Behind(name))))
}

// In is an amount of another part of the currency in this one, rounded up; at most what can be counted exactly.
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

// Decimal reads a number as a whole number of its last decimal place, so that 1.5 with nine decimals is 1,500,000,000, and so is
// 15e-1: every JSON number, also with a plus sign or without digits on one side of the point. It reads the digits, because no
// float is exactly 0.1, and reports false for a part of the last place and beyond ±Most. Its time grows only with the text,
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
		if exponent, err = strconv.Atoi(parts[4]); err != nil || exponent > len(text)+len(mostDigits) || exponent < -len(text)-decimals {
			return 0, false // no digits of this text make up for it
		}
	}
	short := strings.TrimRight(digits, "0")
	zeros := exponent + decimals - len(parts[3]) + len(digits) - len(short)
	if zeros < 0 || len(short)+zeros > len(mostDigits) {
		return 0, false
	}
	n, err := strconv.ParseInt(parts[1]+short+strings.Repeat("0", zeros), 10, 64)
	return n, err == nil && n >= -Most && n <= Most
}

// mostDigits are those of Most.
var mostDigits = strconv.FormatInt(Most, 10)

func power(places int) int64 {
	n := int64(1)
	for range places {
		n *= 10
	}
	return n
}
