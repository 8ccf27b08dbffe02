package price_test

import (
	"testing"

	"sluice/policy/price"
	"sluice/policy/unit"
)

// A price counts tokens if it has one of input or of output, and images if it has one of them or of a size; 0 is a price.
func TestWhatAPriceLacks(t *testing.T) {
	tokens, images, neither := unit.Amounts{1, 5, 0, 0}, unit.Amounts{1, 0, 2, 0}, unit.Amounts{1, 0, 0, 0}
	both := tokens.Plus(images)
	of := func(kinds ...price.Kind) *price.Price {
		p := new(price.Price)
		for _, k := range kinds {
			p.Rates.Set(k, 0)
		}
		return p
	}
	for _, tt := range []struct {
		about string
		price *price.Price
		used  unit.Amounts
		want  string
	}{
		{"no price", nil, neither, "price"},
		{"input", of(price.Input), tokens, ""},
		{"output", of(price.Output), tokens, ""},
		{"only a part of the input", of(price.Cached), tokens, "price of tokens"},
		{"only images", of(price.Image), tokens, "price of tokens"},
		{"only images, for nothing", of(price.Image), neither, ""},
		{"images", of(price.Image), images, ""},
		{"a size", &price.Price{Images: []price.Size{{Word: "1K"}}}, images, ""},
		{"only tokens", of(price.Input, price.Output), images, "price of images"},
		{"only tokens, for both", of(price.Input, price.Output), both, "price of images"},
		{"only images, for both", of(price.Image), both, "price of tokens"},
		{"both", of(price.Output, price.Image), both, ""},
	} {
		if got := tt.price.Missing(&tt.used); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.about, got, tt.want)
		}
	}
}
