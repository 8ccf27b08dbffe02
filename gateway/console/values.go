package console

import (
	"time"

	"sluice/policy/limit"
	"sluice/policy/unit"
)

// Amounts are amounts by unit.
type Amounts struct {
	of    limit.Amounts
	money unit.Money
}

// MarshalJSON writes a number for each unit, spend in the currency.
func (a Amounts) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, name := range unit.Names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `"`+string(name)+`":`+a.money.Written(name, a.of[i])...)
	}
	return append(out, '}'), nil
}

func orNil(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}
