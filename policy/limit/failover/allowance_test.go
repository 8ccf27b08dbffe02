package failover

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
)

// The size of an allowance is a part of the amount left, or the recent use; those of all replicas together are at most a
// tenth.
func TestAllowanceSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left, used := rapid.Int64Range(limit.None, 1<<40).Draw(t, "left"), rapid.Int64Range(0, 1<<40).Draw(t, "used")
		replicas := rapid.Int64Range(1, 50).Draw(t, "replicas")
		size := allowanceSize(limit.Stock{left, 0, 0, 0, limit.None}, limit.Stock{used}, replicas)
		switch {
		case size[0] < 0 || left == limit.None && size[0] != 0:
			t.Errorf("%d", size[0])
		case left != limit.None && size[0]*replicas > left/allowancesPart:
			t.Errorf("%d of each replica are more than a tenth of %d", size[0], left)
		case left != limit.None && used <= left/allowancePart && replicas <= allowancePart/allowancesPart &&
			size[0] < left/allowancePart/replicas:
			t.Errorf("%d is less than a fiftieth of %d", size[0], left)
		case size[limit.StockTasks] != 0:
			t.Error("a unit without a limit needs no allowance")
		}
	})
}

// Recent use is the use of the last half minute; older use no longer counts.
func TestRecentUse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r recent
		now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		type use struct {
			at time.Time
			n  int64
		}
		var uses []use
		for range rapid.IntRange(1, 30).Draw(t, "uses") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
			n := rapid.Int64Range(0, 100).Draw(t, "amount")
			r.add(limit.Stock{n}, now)
			uses = append(uses, use{now, n})
			var least, most int64
			for _, u := range uses {
				if age := now.Sub(u.at); age < allowanceUse/2 {
					least += u.n
				}
				if age := now.Sub(u.at); age <= allowanceUse {
					most += u.n
				}
			}
			if sum := r.sum(now)[0]; sum < least || sum > most {
				t.Fatalf("%d, want between %d and %d", sum, least, most)
			}
		}
	})
}

// A loan covers a request if it suffices for all counted units and its lease runs.
func TestLoanCovers(t *testing.T) {
	until := time.Date(2000, 1, 1, 0, 10, 0, 0, time.UTC)
	counted := limit.TermsOf(limittest.Team(t, "quotas: {images: {day: 100}}"))
	a := &allowance{day: 20000101, terms: &counted, until: until, left: limit.Stock{0, 0, 4}}
	four := a.lend(limit.Stock{1, 0, 4})
	for _, tt := range []struct {
		about string
		loan  loan
		want  limit.Stock
		day   int
		at    time.Time
		ok    bool
	}{
		{"as much", four, limit.Stock{1, 0, 4}, 20000101, until.Add(-1), true},
		{"what is not counted needs none", loan{}, limit.Stock{1, 9, 0}, 20000101, until, true},
		{"too little", four, limit.Stock{1, 0, 5}, 20000101, until.Add(-1), false},
		{"none", loan{}, limit.Stock{1, 0, 1}, 20000101, until.Add(-1), false},
		{"its lease has ended", four, limit.Stock{1, 0, 4}, 20000101, until, false},
		{"its day is over", four, limit.Stock{1, 0, 4}, 20000102, until.Add(-1), false},
	} {
		if ok := new(books).covers(&tt.loan, tt.want, &counted, tt.day, tt.at); ok != tt.ok {
			t.Errorf("%s: %v", tt.about, ok)
		}
	}
}
