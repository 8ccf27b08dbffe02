package limit

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"sluice/policy"
	"sluice/policy/limit/limittest"
	"sluice/policy/price"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// somePrice is 0.2 for an image, 0.8 for a million input tokens, 2 for a million output tokens.
func somePrice() *price.Price {
	p := new(price.Price)
	p.Rates.Set(price.Image, 200_000_000)
	p.Rates.Set(price.Input, 800_000_000)
	p.Rates.Set(price.Output, 2_000_000_000)
	return p
}

func TestEstimate(t *testing.T) {
	tokens := func(n int64) policy.Maybe[int64] { return policy.Maybe[int64]{Value: n, Set: true} }
	for _, tt := range []struct {
		about string
		q     policy.Request
		lines []string
		want  Amounts
	}{
		{"no maximum", policy.Request{Kind: policy.KindText, N: 1, TextLength: 100}, nil, Amounts{1, 2148, 0, 100*800 + 2048*2000}},
		{"four answers", policy.Request{Kind: policy.KindChat, N: 4, TextLength: 10, MaxTokens: tokens(50)}, nil,
			Amounts{1, 210, 0, 10*800 + 200*2000}},
		{"thinking, not bounded by the maximum", policy.Request{Kind: policy.KindText, N: 1, MaxTokens: tokens(8), Thinking: true}, nil,
			Amounts{1, 8200, 0, 8200 * 2000}},
		{"a budget", policy.Request{Kind: policy.KindText, N: 1, MaxTokens: tokens(8), Thinking: true, ThinkingBudget: tokens(92)}, nil,
			Amounts{1, 100, 0, 100 * 2000}},
		{"a quarter of the bucket", policy.Request{Kind: policy.KindText, N: 1}, []string{"rates: {tokens: {per: 1m, limit: 9000, burst: 400}}"},
			Amounts{1, 100, 0, 2048 * 2000}},
		{
			"a quarter of each quota", policy.Request{Kind: policy.KindText, N: 1},
			[]string{"quotas: {tokens: {day: 1000, month: 800}, spend: {day: 0.000004}}"}, Amounts{1, 200, 0, 1000},
		},
		{"never below 1", policy.Request{Kind: policy.KindText, N: 1}, []string{"quotas: {tokens: {day: 3}, spend: {day: 0}}"},
			Amounts{1, 1, 0, 1}},
		{"images are exact", policy.Request{Kind: policy.KindTask, N: 4, Images: 4}, []string{"quotas: {images: {day: 3}}"},
			Amounts{1, 0, 4, 800_000_000}},
		{
			"a guess holds both, and the larger price", policy.Request{Kind: policy.KindImage, Guessed: true, N: 4, Images: 4, TextLength: 10},
			[]string{"quotas: {tokens: {day: 4000}}"}, Amounts{1, 1000, 4, 800_000_000},
		},
		{"the same of a price of text", policy.Request{Kind: policy.KindImage, Guessed: true, N: 1, Images: 0, TextLength: 10}, nil,
			Amounts{1, 2058, 0, 10*800 + 2048*2000}},
		{"a forwarded path that may make pictures holds both", policy.Request{Kind: policy.KindOther, N: 1, Images: 1, TextLength: 10}, nil,
			Amounts{1, 2058, 1, 200_000_000}},
		{"a text of a forwarded path", policy.Request{Kind: policy.KindOther, N: 1, TextLength: 10}, nil,
			Amounts{1, 2058, 0, 10*800 + 2048*2000}},
		{
			"no estimate is so large that the holds of many cannot be counted",
			policy.Request{Kind: policy.KindText, N: 4, MaxTokens: tokens(1 << 62)}, nil, Amounts{1, mostTokens, 0, mostSpend},
		},
	} {
		if got, _ := Estimate(&tt.q, limittest.Team(t, tt.lines...), new(teams.KeyLimits), somePrice()); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.about, got, tt.want)
		}
	}
}

// What the tokens add to the price of the images is an estimate; the rest is exact.
func TestTheEstimatedPartOfTheMoney(t *testing.T) {
	for _, tt := range []struct {
		about string
		q     policy.Request
		want  int64
	}{
		{"a text", policy.Request{Kind: policy.KindText, N: 1}, 2048 * 2000},
		{"images", policy.Request{Kind: policy.KindTask, Images: 4}, 0},
		{"a guess that is dearer as images", policy.Request{Kind: policy.KindImage, Guessed: true, N: 1, Images: 1}, 0},
		{"one that is dearer as a text", policy.Request{Kind: policy.KindOther, N: 1, Images: 1,
			MaxTokens: policy.Maybe[int64]{Value: 1_000_000, Set: true}}, 1_000_000*2000 - 200_000_000},
	} {
		if _, got := Estimate(&tt.q, limittest.Team(t), new(teams.KeyLimits), somePrice()); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.about, got, tt.want)
		}
	}
}

// A key's own limits bound an estimate as its team's do, or no text would ever pass a small one.
func TestEstimateByKey(t *testing.T) {
	text, team := policy.Request{Kind: policy.KindText, N: 1}, limittest.Team(t, "quotas: {tokens: {day: 4000}}")
	for _, tt := range []struct {
		about string
		key   teams.KeyLimits
		want  Amounts
	}{
		{"none", teams.KeyLimits{}, Amounts{1, 1000, 0, 2048 * 2000}},
		{"a rate", teams.KeyLimits{Rates: []teams.Rate{{Unit: unit.NameTokens, Burst: 400}}}, Amounts{1, 100, 0, 2048 * 2000}},
		{
			"quotas", teams.KeyLimits{Quotas: []teams.Quota{{Unit: unit.NameTokens, Limit: 80}, {Unit: unit.NameSpend, Limit: 4000}}},
			Amounts{1, 20, 0, 1000},
		},
		{"a larger one than its team's", teams.KeyLimits{Quotas: []teams.Quota{{Unit: unit.NameTokens, Limit: 8000}}},
			Amounts{1, 1000, 0, 2048 * 2000}},
	} {
		if got, _ := Estimate(&text, team, &tt.key, somePrice()); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.about, got, tt.want)
		}
	}
}

// A hold reckons with the tier of the estimated input, without hits of a cache, and with the size that the request names, else the dearest.
func TestEstimateByTierAndSize(t *testing.T) {
	tiered, sized, unsized := somePrice(), somePrice(), new(price.Price)
	above := price.Border{Input: 100}
	above.Rates.Set(price.Input, 1_600_000_000)
	tiered.Above = []price.Border{above}
	tiered.Rates.Set(price.Cached, 1)
	tiered.Rates.Set(price.Thinking, 4_000_000_000)
	sized.Images = []price.Size{{UpToPixels: 1024 * 1024, Image: 100_000_000}, {Word: "2K", Image: 500_000_000}}
	unsized.Images = sized.Images[:1]
	text := func(input int64) policy.Request {
		return policy.Request{Kind: policy.KindText, N: 1, TextLength: input, MaxTokens: policy.Maybe[int64]{Value: 10, Set: true}}
	}
	thinks := text(100)
	thinks.Thinking, thinks.ThinkingBudget = true, policy.Maybe[int64]{Value: 50, Set: true}
	picture := func(size string) policy.Request { return policy.Request{Kind: policy.KindTask, Images: 2, Size: size} }
	for _, tt := range []struct {
		about string
		q     policy.Request
		price *price.Price
		want  Amounts
	}{
		{"at the border", text(100), tiered, Amounts{1, 110, 0, 100*800 + 10*2000}},
		{"above it", text(101), tiered, Amounts{1, 111, 0, 101*1600 + 10*2000}},
		{"thinking has its price", thinks, tiered, Amounts{1, 160, 0, 100*800 + 10*2000 + 50*4000}},
		{"a size", picture("1024*1024"), sized, Amounts{1, 0, 2, 200_000_000}},
		{"a larger one", picture("1024*1040"), sized, Amounts{1, 0, 2, 400_000_000}},
		{"a size by its word", picture("2K"), sized, Amounts{1, 0, 2, 1_000_000_000}},
		{"a word without a price", picture("1K"), sized, Amounts{1, 0, 2, 400_000_000}},
		{"no size", picture(""), sized, Amounts{1, 0, 2, 1_000_000_000}},
		{"no size, and no price of an image", picture(""), unsized, Amounts{1, 0, 2, 200_000_000}},
		{"no price", text(100), nil, Amounts{1, 110, 0, 0}},
	} {
		if got, _ := Estimate(&tt.q, limittest.Team(t), new(teams.KeyLimits), tt.price); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.about, got, tt.want)
		}
	}
}

// What a request counts is what its bill says, and its spend is the sum of the bill's lines.
func TestAmountsAreTheBills(t *testing.T) {
	for _, tt := range []struct {
		about string
		used  price.Usage
		want  Amounts
	}{
		{"the larger of total and sum", price.Usage{Input: 10, Output: 20, Total: 35}, Amounts{1, 35, 0, 10*800 + 25*2000}},
		{"a sum without total", price.Usage{Input: 10, Output: 20}, Amounts{1, 30, 0, 10*800 + 20*2000}},
		{"a total alone counts as output", price.Usage{Total: 7}, Amounts{1, 7, 0, 7 * 2000}},
		{"images", price.Usage{Images: 3}, Amounts{1, 0, 3, 600_000_000}},
		{"images beside tokens", price.Usage{Input: 10, Images: 1}, Amounts{1, 10, 1, 200_000_000 + 10*800}},
		{"nothing negative", price.Usage{Input: -5, Output: -1, Total: -9, Images: -2}, Amounts{Requests: 1}},
	} {
		bill, _ := price.Of(somePrice(), &tt.used)
		if got := AmountsOf(&bill); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.about, got, tt.want)
		}
	}
	amount := rapid.OneOf(rapid.Int64Range(0, 300_000), rapid.Int64Range(-3, unit.Most))
	rapid.Check(t, func(t *rapid.T) {
		p, u := price.Price{}, price.Usage{
			Input: amount.Draw(t, "input"), Output: amount.Draw(t, "output"), Total: amount.Draw(t, "total"), Cached: amount.Draw(t, "cached"),
			Explicit: rapid.Bool().Draw(t, "explicit"), CacheCreation: amount.Draw(t, "creation"), ImageInput: amount.Draw(t, "pictures"),
			Thinking: amount.Draw(t, "thinking"), Images: amount.Draw(t, "images"), Pixels: amount.Draw(t, "pixels"),
		}
		for k := range price.Kind(price.Kinds) {
			if rapid.Bool().Draw(t, "has "+k.String()) {
				p.Rates.Set(k, amount.Draw(t, k.String()))
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "borders") {
			b := price.Border{Input: amount.Draw(t, "border")}
			b.Rates.Set(rapid.SampledFrom([]price.Kind{price.Input, price.Output, price.Cached}).Draw(t, "of"), amount.Draw(t, "above"))
			p.Above = append(p.Above, b)
		}
		for range rapid.IntRange(0, 2).Draw(t, "sizes") {
			p.Images = append(p.Images, price.Size{UpToPixels: amount.Draw(t, "up to"), Image: amount.Draw(t, "of that size")})
		}
		bill, _ := price.Of(&p, &u)
		got, sum := AmountsOf(&bill), new(big.Int)
		for l := range bill.Lines() {
			sum.Add(sum, big.NewInt(l.Amount))
		}
		if most := big.NewInt(unit.Most); sum.Cmp(most) > 0 {
			sum = most
		}
		if got[Spend] != sum.Int64() || got[Tokens] != u.Tokens() || got[Images] != max(u.Images, 0) || !got.Valid() {
			t.Fatalf("%v, the lines add up to %v, for %+v", got, sum, u)
		}
	})
}
