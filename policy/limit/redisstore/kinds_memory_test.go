package redisstore

import (
	"fmt"
	"slices"
	"testing"

	"sluice/policy/limit/limittest"
	"sluice/policy/price"
)

// The kinds of days with 1 to 60 models take at most two fifths of what those days take without them, and so do those of days with 120 and
// 180. A single day may have more or less: Redis's memory comes in sizes that are 12 to 25 % apart, and a hash of more than 512 fields is a
// table.
func TestKindsTakeLittleMemory(t *testing.T) {
	client := limittest.RealRedis(t)
	var p price.Price
	for k, rate := range map[price.Kind]int64{price.Input: 2_500_000_000, price.Cached: 500_000_000, price.Output: 10_000_000_000,
		price.Thinking: 10_000_000_000} {
		p.Rates.Set(k, rate)
	}
	bill, _ := price.Of(&p, &price.Usage{Input: 8_234_567, Cached: 3_456_789, Output: 2_345_678, Thinking: 1_234_567})
	client.HSet(t.Context(), "without", "day", 20261121)
	client.HSet(t.Context(), "with", "day", 20261121)
	bytes := func(key string) int64 { return client.MemoryUsage(t.Context(), key, 0).Val() }
	var without, with int64
	for n := range 180 {
		row := fmt.Sprintf("llm-model-%02d|text", n)
		for _, key := range []string{"without", "with"} {
			client.HSet(t.Context(), key, row+"|requests", 12_345, row+"|tokens", 8_234_567+2_345_678, row+"|spend", bill.Total())
		}
		if err := joinScript.Run(t.Context(), client, []string{"with"}, row, string(bill.ByKind())).Err(); err != nil {
			t.Fatal(err)
		}
		a, b := bytes("without"), bytes("with")
		if slices.Contains([]int{1, 3, 10, 30, 60, 120, 128, 170, 180}, n+1) {
			t.Logf("%d models: %d bytes, %d with kinds: %d %% more", n+1, a, b, 100*(b-a)/a)
		}
		if large := n+1 == 120 || n+1 == 180; large && 100*(b-a) > 40*a {
			t.Errorf("%d models: %d bytes, %d with kinds", n+1, a, b)
		}
		if n < 60 {
			without, with = without+a, with+b
		}
	}
	t.Logf("1 to 60 models: %d %% more", 100*(with-without)/without)
	if 100*(with-without) > 40*without || without == 0 {
		t.Errorf("1 to 60 models: %d bytes, %d with kinds", without, with)
	}
}
