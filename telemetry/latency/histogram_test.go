package latency

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestPercentilesAreWithinFivePerCent of those of the durations themselves, however they are spread and divided among replicas.
func TestPercentilesAreWithinFivePerCent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// 20 µs to 83 min
		draw := rapid.Map(rapid.Float64Range(math.Log(20e3), math.Log(5e12)), func(x float64) time.Duration { return time.Duration(math.Exp(x)) })
		all := rapid.SliceOfN(draw, 1, 400).Draw(t, "durations")
		parts := make([]Histogram, rapid.IntRange(1, 4).Draw(t, "replicas"))
		for i, d := range all {
			parts[i%len(parts)].Note(d)
		}
		var merged Histogram
		for i := range parts {
			if err := merged.Unpack(parts[i].Pack(nil)); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(all)
		for _, p := range []float64{0, 1, 50, 95, 99, 100} {
			exact := all[max(int(math.Ceil(p/100*float64(len(all)))), 1)-1]
			if got := merged.Percentile(p); math.Abs(float64(got-exact)) > 0.05*float64(exact) {
				t.Fatalf("p%v of %d is %v, and exactly %v", p, len(all), got, exact)
			}
		}
		if merged.Count() != int64(len(all)) {
			t.Fatalf("%d of %d", merged.Count(), len(all))
		}
	})
}

// TestPackedIsAsItWas, and Add is the same as unpacking both.
func TestPackedIsAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b, both, sum Histogram
		for _, h := range []*Histogram{&a, &b} {
			for i, n := range rapid.MapOf(rapid.IntRange(0, buckets-1), rapid.Uint32Range(0, 1<<20)).Draw(t, "counts") {
				h.counts[i] = n
			}
			if err := both.Unpack(h.Pack(nil)); err != nil {
				t.Fatal(err)
			}
		}
		sum = a
		if sum.Add(&b); sum != both {
			t.Fatalf("%v and %v are %v", a, b, both)
		}
		list, err := Series(b.Pack(a.Pack([]byte{0x92})))
		if err != nil || len(list) != 2 || list[0] != a || list[1] != b {
			t.Fatal(err, list)
		}
	})
}

func TestOutOfRange(t *testing.T) {
	var h Histogram
	if h.Percentile(50) != 0 || h.Count() != 0 {
		t.Errorf("an empty one has p50 %v", h.Percentile(50))
	}
	h.Note(-time.Second)
	if got := h.Percentile(50); got > least {
		t.Errorf("less than nothing is %v", got)
	}
	h.Note(1000 * time.Hour)
	if got := h.Percentile(100); got < time.Hour {
		t.Errorf("too long is %v", got)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte{0x90})
	f.Add([]byte{0xdc, 0, 20, 1, 2})
	f.Add([]byte{0x92, 0x80, 1})
	f.Fuzz(func(t *testing.T, text []byte) {
		var h, again Histogram
		_, _ = Series(text)
		if h.Unpack(text) == nil && (again.Unpack(h.Pack(nil)) != nil || again != h) {
			t.Errorf("%x is not itself", text)
		}
	})
}
