package limit

import (
	"testing"

	"sluice/policy/teams"
)

// The indices of Amounts are in the order of teams.Units, and an unknown unit is never taken for another.
func TestUnitIndex(t *testing.T) {
	for unit, want := range map[teams.Unit]int{
		teams.UnitRequests: Requests, teams.UnitTokens: Tokens, teams.UnitImages: Images, teams.UnitSpend: Spend, "seconds": -1, "": -1,
	} {
		if got := UnitIndex(unit); got != want {
			t.Errorf("%q has index %d, want %d", unit, got, want)
		}
	}
}
