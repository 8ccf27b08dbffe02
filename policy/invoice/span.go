package invoice

import (
	"cmp"
	"errors"
	"math/big"
	"strings"

	"sluice/policy/limit"
	"sluice/policy/unit"
)

// Span is the part of a bill that is compared: days, both included, as 20261121, and an account at the service. Zero: no bound.
type Span struct {
	From, To int
	Account  string     // a bill without a column of accounts is for this one only
	Money    unit.Money // in which the sums count, like the ledger's
}

// ParseSpan reads the days, such as 2026-11-21; empty: no bound.
func ParseSpan(from, to string) (s Span, err error) {
	for _, d := range []struct {
		text string
		day  *int
	}{{from, &s.From}, {to, &s.To}} {
		if d.text == "" {
			continue
		}
		days, ok := limit.Days(d.text, d.text)
		if !ok {
			return s, errors.New("allowed: days such as 2026-11-01, the first not after the last, at most 400 days")
		}
		*d.day = days[0]
	}
	return s, nil
}

// has reports whether the span has a day.
func (s Span) has(day int) bool { return day >= s.From && (s.To == 0 || day <= s.To) }

// Of returns the first and the last day that are compared, such as 2026-11-21: the span's, or else the bill's; "" if
// neither has one.
func (s Span) Of(sums *Sums) (from, to string) {
	first, last := sums.Days()
	return dayText(cmp.Or(s.From, first)), dayText(cmp.Or(s.To, last))
}

// DayTexts writes days: "2026-10-31, 2026-11-30".
func DayTexts(days []int) string {
	var texts []string
	for _, day := range days {
		texts = append(texts, limit.DayText(day))
	}
	return strings.Join(texts, ", ")
}

func dayText(day int) string {
	if day == 0 {
		return ""
	}
	return limit.DayText(day)
}

// ParseTolerance reads a fraction of the bill in per cent: 0.5% is 5/1000.
func ParseTolerance(text string) (*big.Rat, error) {
	part, ok := new(big.Rat).SetString(strings.TrimSuffix(text, "%"))
	if !ok || !strings.HasSuffix(text, "%") || part.Sign() < 0 || len(text) > 20 {
		return nil, errors.New("allowed: a part of the bill in per cent, such as 0.5%")
	}
	return part.Quo(part, big.NewRat(100, 1)), nil
}
