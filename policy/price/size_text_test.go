package price

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"sluice/policy/unit"
)

func TestSizesAreWrittenForPeople(t *testing.T) {
	for size, want := range map[string]string{
		"": "", "1K": "1K", "4k": "4k", "1024*768": "1024 × 768",
		"1": "up to 1 × 1", "1048576": "up to 1024 × 1024", "4194304": "up to 2048 × 2048", "16777216": "up to 4096 × 4096",
		"1048575": "up to 1.048575 MP", "2073601": "up to 2.073601 MP", "921600": "up to 960 × 960", "1500000": "up to 1.5 MP",
		"12000000": "up to 12 MP", "1234000000": "up to 1,234 MP",
		"9999": "up to 9,999 pixels", "10001": "up to 0.010001 MP", "-5": "-5", "0": "0", "99999999999999999999": "99999999999999999999",
		strconv.Itoa(unit.Most): "up to 9,007,199,254.740991 MP",
	} {
		if got := SizeText(size); got != want {
			t.Errorf("%q is written %q, want %q", size, got, want)
		}
	}
}

// TestTwoSizesAreNeverOneText, however near they are.
func TestTwoSizesAreNeverOneText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.Int64Range(1, unit.Most).Draw(t, "pixels")
		other := rapid.OneOf(rapid.Int64Range(1, unit.Most), rapid.Just(one+1), rapid.Just(side(one)*side(one))).Draw(t, "more")
		if a, b := SizeText(strconv.FormatInt(one, 10)), SizeText(strconv.FormatInt(other, 10)); (a == b) != (one == other) {
			t.Errorf("%d is %q, %d is %q", one, a, other, b)
		}
	})
}
