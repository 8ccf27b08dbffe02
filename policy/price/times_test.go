package price

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"sluice/policy/unit"
)

// Money is exact, rounded up, and stops at the largest amount.
func TestMoneyIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, unit.Most)
		a, b, c := n.Draw(t, "a"), n.Draw(t, "b"), rapid.SampledFrom([]int64{1, 7, 1_000_000}).Draw(t, "c")
		want := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		want.Add(want, big.NewInt(c-1)).Div(want, big.NewInt(c))
		if most := big.NewInt(unit.Most); want.Cmp(most) > 0 {
			want = most
		}
		if got := times(a, b, c); got != want.Int64() {
			t.Fatalf("%d × %d ÷ %d is %d, want %s", a, b, c, got, want)
		}
	})
}
