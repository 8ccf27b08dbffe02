package gateway

import (
	"testing"

	"pgregory.net/rapid"
)

// The budget against a model: sums are right after every step, bounds are kept, and everything is given back.
func TestBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &loads{budget: 1000}
		var open []share
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			team := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "team")
			if len(open) > 0 && rapid.Bool().Draw(t, "release") {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				open[i].keep(0)
				open[i].keep(0)
			}
			s, n := b.share(team), rapid.Int64Range(1, 600).Draw(t, "n")
			before := b.bytes.Load()
			fits := before+n <= 1000 && s.team.bytes.Load()+n <= 500
			if s.Take(n) != fits || !fits && b.bytes.Load() != before {
				t.Fatalf("take %d of team %s: want %v", n, team, fits)
			}
			open = append(open, s)
		}
		for i := range open {
			open[i].keep(0)
		}
		if b.bytes.Load() != 0 {
			t.Fatalf("%d left", b.bytes.Load())
		}
	})
}

// A client holds memory only for what it sent: each buffer is at most 16 times what has arrived.
func TestBuffersGrowWithTheBody(t *testing.T) {
	for _, declared := range []int64{1, 64 << 10, 1 << 20, 13 << 20, 60_000_000, 1 << 30} {
		u := upload{declared: declared}
		for size := u.nextSize(0); size < declared; {
			next := u.nextSize(size)
			if next <= size || next > 16*size || next > declared {
				t.Fatalf("of %d bytes %d arrived, the buffer is %d", declared, size, next)
			}
			size = next
		}
	}
}
