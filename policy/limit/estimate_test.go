package limit

import (
	"math/big"
	"sluice/policy"
	"sluice/policy/limit/limittest"
	"sluice/policy/teams"
	"testing"

	"pgregory.net/rapid"
)

func TestSizeOf(t *testing.T) {
	price := teams.Price{Image: 200_000_000, InputPerMillion: 800_000_000, OutputPerMillion: 2_000_000_000}
	tokens := func(n int64) policy.Maybe[int64] { return policy.Maybe[int64]{Value: n, Set: true} }
	for _, tt := range []struct {
		about string
		q     policy.Request
		lines []string
		want  Amounts
	}{
		{"no maximum", policy.Request{Kind: policy.KindText, N: 1, TextLength: 100}, nil, Amounts{1, 2148, 0, 100*800 + 2048*2000}},
		{"four answers", policy.Request{Kind: policy.KindChat, N: 4, TextLength: 10, MaxTokens: tokens(50)}, nil, Amounts{1, 210, 0, 10*800 + 200*2000}},
		{"thinking, not bounded by the maximum", policy.Request{Kind: policy.KindText, N: 1, MaxTokens: tokens(8), Thinking: true}, nil, Amounts{1, 8200, 0, 8200 * 2000}},
		{"a budget", policy.Request{Kind: policy.KindText, N: 1, MaxTokens: tokens(8), Thinking: true, ThinkingBudget: tokens(92)}, nil, Amounts{1, 100, 0, 100 * 2000}},
		{"a quarter of the bucket", policy.Request{Kind: policy.KindText, N: 1}, []string{"rates: {tokens: {per: 1m, limit: 9000, burst: 400}}"}, Amounts{1, 100, 0, 2048 * 2000}},
		{
			"a quarter of each quota", policy.Request{Kind: policy.KindText, N: 1},
			[]string{"quotas: {tokens: {day: 1000, month: 800}, spend: {day: 0.000004}}"}, Amounts{1, 200, 0, 1000},
		},
		{"never below 1", policy.Request{Kind: policy.KindText, N: 1}, []string{"quotas: {tokens: {day: 3}, spend: {day: 0}}"}, Amounts{1, 1, 0, 1}},
		{"images are exact", policy.Request{Kind: policy.KindTask, N: 4, Images: 4}, []string{"quotas: {images: {day: 3}}"}, Amounts{1, 0, 4, 800_000_000}},
		{
			"a guess holds both, and the larger price", policy.Request{Kind: policy.KindImage, Guessed: true, N: 4, Images: 4, TextLength: 10},
			[]string{"quotas: {tokens: {day: 4000}}"}, Amounts{1, 1000, 4, 800_000_000},
		},
		{"the same of a price of text", policy.Request{Kind: policy.KindImage, Guessed: true, N: 1, Images: 0, TextLength: 10}, nil, Amounts{1, 2058, 0, 10*800 + 2048*2000}},
		{"a forwarded path", policy.Request{Kind: policy.KindOther}, nil, Amounts{Requests: 1}},
		{
			"no estimate is so large that the holds of many cannot be counted", policy.Request{Kind: policy.KindText, N: 4, MaxTokens: tokens(1 << 62)}, nil,
			Amounts{1, mostTokens, 0, mostSpend},
		},
	} {
		if got := SizeOf(&tt.q, limittest.Team(t, tt.lines...), price); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.about, got, tt.want)
		}
	}
}

func TestCostOf(t *testing.T) {
	price := teams.Price{Image: 200_000_000, InputPerMillion: 800_000_000, OutputPerMillion: 2_000_000_000}
	for _, tt := range []struct {
		about string
		kind  policy.Kind
		used  Usage
		want  Amounts
	}{
		{"the larger of total and sum", policy.KindText, Usage{Input: 10, Output: 20, Total: 35}, Amounts{1, 35, 0, 10*800 + 25*2000}},
		{"a sum without total", policy.KindText, Usage{Input: 10, Output: 20}, Amounts{1, 30, 0, 10*800 + 20*2000}},
		{"a total alone counts as output", policy.KindChat, Usage{Total: 7}, Amounts{1, 7, 0, 7 * 2000}},
		{"images cost no tokens", policy.KindTask, Usage{Input: 5, Output: 5, Total: 10, Images: 3}, Amounts{1, 0, 3, 600_000_000}},
		{"images of a text kind are charged too", policy.KindChat, Usage{Input: 10, Images: 1}, Amounts{1, 10, 1, 200_000_000 + 10*800}},
		{"nothing negative", policy.KindText, Usage{Input: -5, Output: -1, Total: -9, Images: -2}, Amounts{Requests: 1}},
	} {
		if got := CostOf(tt.kind, tt.used, price); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.about, got, tt.want)
		}
	}
}

// Money is exact, rounded up, and stops at the largest amount.
func TestMoneyIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, teams.MaxAmount)
		a, b, c := n.Draw(t, "a"), n.Draw(t, "b"), rapid.SampledFrom([]int64{1, 7, million}).Draw(t, "c")
		want := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		want.Add(want, big.NewInt(c-1)).Div(want, big.NewInt(c))
		if most := big.NewInt(teams.MaxAmount); want.Cmp(most) > 0 {
			want = most
		}
		if got := times(a, b, c); got != want.Int64() {
			t.Fatalf("%d × %d ÷ %d is %d, want %s", a, b, c, got, want)
		}
	})
}
