package unit_test

import (
	"testing"

	"sluice/policy/unit"
)

// The indices of Amounts are in the order of Names, and an unknown unit is never taken for another.
func TestUnitIndex(t *testing.T) {
	for name, want := range map[unit.Name]int{
		"requests": unit.Requests, "tokens": unit.Tokens, "images": unit.Images, "spend": unit.Spend, "seconds": -1, "": -1,
	} {
		if got := unit.Index(name); got != want {
			t.Errorf("%q has index %d, want %d", name, got, want)
		}
	}
}
