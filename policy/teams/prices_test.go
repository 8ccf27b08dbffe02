package teams_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/price"
	"sluice/policy/teams"
)

// Every member of a price is read into the kind, the border or the size that it names, exactly.
func TestPricesAreReadWhole(t *testing.T) {
	list := mustParse(t, `
teams: []
prices:
  - model: "llm-max*"
    from: 2026-11-01
    input_per_million: 2.5
    output_per_million: 10
    thinking_per_million: 12
    cached_per_million: 0.5
    explicit_cached_per_million: 0
    cache_creation_per_million: 3.125
    image_input_per_million: 4
    video_input_per_million: 5
    audio_input_per_million: 6
    above:
      - {input: 32000, input_per_million: 4, cached_per_million: 0.8}
      - {input: 128000, output_per_million: 28}
  - model: "gen*"
    image: 0.000000001
    images:
      - {up_to_pixels: 1048576, image: 0.14}
      - {size: 2K, image: 0.5}
`).Prices
	const milli = teams.Nano / 1000
	want := price.List{
		{
			Pattern: "llm-max*", From: 20261101,
			Rates: ratesOf(map[price.Kind]int64{
				price.Input: 2500 * milli, price.Output: 10_000 * milli, price.Thinking: 12_000 * milli, price.Cached: 500 * milli,
				price.ExplicitCached: 0,
				price.CacheCreation:  3125 * milli, price.ImageInput: 4000 * milli, price.VideoInput: 5000 * milli, price.AudioInput: 6000 * milli,
			}),
			Above: []price.Border{
				{Input: 32_000, Rates: ratesOf(map[price.Kind]int64{price.Input: 4000 * milli, price.Cached: 800 * milli})},
				{Input: 128_000, Rates: ratesOf(map[price.Kind]int64{price.Output: 28_000 * milli})},
			},
		},
		{
			Pattern: "gen*", Rates: ratesOf(map[price.Kind]int64{price.Image: 1}),
			Images: []price.Size{{UpToPixels: 1_048_576, Image: 140 * milli}, {Word: "2K", Image: 500 * milli}},
		},
	}
	if diff := cmp.Diff(want, list, cmp.AllowUnexported(price.Rates{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func ratesOf(given map[price.Kind]int64) (r price.Rates) {
	for k, amount := range given {
		r.Set(k, amount)
	}
	return r
}

// The first price that matches counts, not the closest, and a team that must not use a model without a price is not offered it before
// its price's day.
func TestTheFirstPriceWhoseDayHasCome(t *testing.T) {
	file := mustParse(t, `
catalogue: [gen2.6, llm-max]
prices:
  - {model: "llm-*", input_per_million: 3, from: 2026-11-02}
  - {model: "llm-*", input_per_million: 1, from: "2026-11-01"}
  - {model: "llm-max", input_per_million: 2}
  - {model: "gen*", image: 0.2, from: 2026-11-02}
teams:
  - {id: spends, quotas: {spend: {day: 1}}}
`)
	for _, tt := range []struct {
		day   int
		want  int64
		names string
	}{{20261031, 2, "llm-max"}, {20261101, 1, "llm-max"}, {20261102, 3, "gen2.6 llm-max"}} {
		if got := file.Prices.For("llm-max", tt.day).Rates.Of(price.Input); got != tt.want*teams.Nano {
			t.Errorf("on %d it costs %d", tt.day, got)
		}
		if got := strings.Join(file.Names(file.Team("spends"), tt.day), " "); got != tt.names {
			t.Errorf("on %d the team is offered %s", tt.day, got)
		}
	}
}
