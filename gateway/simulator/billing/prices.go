package billing

import (
	"fmt"
	"strings"
	"time"
)

// Rates are prices in 10⁻⁹ of the currency, for one token or one picture. An absent item has the price of the item in partOf.
type Rates map[Item]int64

// partOf maps an item to the one whose price counts if it has none.
var partOf = map[Item]Item{
	Hit: Input, ExplicitHit: Hit, Creation: Input, Picture: Input, Film: Input, Sound: Input, Thinking: Output,
}

// Tier has other prices for requests with a long input.
type Tier struct {
	Above int // input tokens
	Rates Rates
}

// Size has the price of pictures of up to so many pixels.
type Size struct {
	Pixels int
	Each   int64 // 10⁻⁹ of the currency
}

// Tariff is the price of some models.
type Tariff struct {
	Models string // a prefix of their names; empty: all
	From   string // the first day in UTC, "2026-11-01"; empty: always
	Rates  Rates
	Tiers  []Tier // by Above
	Sizes  []Size // by Pixels
}

// List is a list of tariffs. The first one for the model whose From has come counts.
type List []Tariff

// Standard is the price list of the simulator. cmd/sluice/demo/prices.yaml has the same prices for a teams file.
var Standard = List{
	{
		Models: "llm-max",
		From:   "2026-01-01",
		Rates:  Rates{Input: 2500, Output: 10_000, Hit: 500, ExplicitHit: 250, Creation: 3125, Picture: 4000},
		Tiers: []Tier{
			{32_000, Rates{Input: 4000, Output: 16_000, Hit: 800}},
			{128_000, Rates{Input: 7000, Output: 28_000, Hit: 1400}},
		},
	},
	{Models: "llm-max", Rates: Rates{Input: 3000, Output: 12_000}},
	{
		Models: "llm-plus",
		Rates:  Rates{Input: 800, Output: 2000, Thinking: 8000, Hit: 160, ExplicitHit: 80, Creation: 1000},
		Tiers:  []Tier{{2000, Rates{Input: 1200, Output: 3000, Hit: 240}}, {128_000, Rates{Input: 2400, Output: 20_000}}},
	},
	{Models: "llm-image", Rates: Rates{Image: 250_000_000}, Sizes: []Size{{1024 * 1024, 200_000_000}}},
	{Models: "llm-vl", Rates: Rates{Input: 1000, Output: 4000, Picture: 1600, Film: 2000, Sound: 3000}},
	{Models: "gen2.6", Rates: Rates{Image: 200_000_000}, Sizes: []Size{{1024 * 1024, 140_000_000}, {2048 * 2048, 180_000_000}}},
	{Models: "gen", Rates: Rates{Image: 160_000_000}},
	{Rates: Rates{Input: 300, Output: 600}},
}

// find returns the tariff of a model at a time; if there is none, the zero Tariff, which costs nothing.
func (l List) find(model string, at time.Time) Tariff {
	day := at.UTC().Format(time.DateOnly)
	for _, t := range l {
		if strings.HasPrefix(model, t.Models) && t.From <= day {
			return t
		}
	}
	return Tariff{}
}

// charge is a line of the bill for one piece of work.
type charge struct {
	item     Item   // on the bill
	unit     string // likewise
	quantity int
	each     int64
}

// charges returns the lines for a piece of work.
func (t *Tariff) charges(w *Work) (lines []charge) {
	long := Tier{}
	for _, tier := range t.Tiers {
		if w.Input() > tier.Above {
			long = tier
		}
	}
	for item, n := range w.quantities() {
		switch {
		case n == 0:
		case item == Image:
			words, each := t.picture(w.Pixels)
			lines = append(lines, charge{words, "piece", n, each})
		default:
			words := item
			if long.Above > 0 {
				words += Item(fmt.Sprintf(" (input above %d)", long.Above))
			}
			lines = append(lines, charge{words, "1k tokens", n, t.price(item, long.Rates)})
		}
	}
	return lines
}

// price returns the price of a token.
func (t *Tariff) price(item Item, long Rates) int64 {
	for ; item != ""; item = partOf[item] {
		if each, ok := long[item]; ok {
			return each
		}
		if each, ok := t.Rates[item]; ok {
			return each
		}
	}
	return 0
}

// picture returns the item for pictures of a size, and the price of one.
func (t *Tariff) picture(pixels int) (words Item, each int64) {
	for _, size := range t.Sizes {
		if pixels <= size.Pixels {
			return Item(fmt.Sprintf("%s up to %d pixels", Image, size.Pixels)), size.Each
		}
	}
	return Image, t.Rates[Image]
}
