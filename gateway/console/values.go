package console

import (
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// Amounts are amounts by unit.
type Amounts limit.Amounts

// MarshalJSON writes a number for each unit; spend is in the currency.
func (a Amounts) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, unit := range teams.Units {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `"`+string(unit)+`":`+limit.Written(unit, a[i])...)
	}
	return append(out, '}'), nil
}

func orNil(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}
