package price

import (
	"slices"
	"strings"

	"sluice/policy"
)

// Price is what a model costs from a day on. The zero Price costs nothing.
type Price struct {
	Pattern policy.Pattern // the models it is for
	From    int            // the first day in UTC, as 20261101; 0: it always counts
	Rates   Rates
	Above   []Border // by the request's input
	Images  []Size   // by the size of a picture
}

// Border has other rates for requests with a long input.
type Border struct {
	Input int64 // the rates count if the request has more input tokens than this
	Rates Rates // what is absent keeps the Price's rate
}

// Size has the rate of pictures of a size.
type Size struct {
	UpToPixels int64  // width × height of the largest that it is for; 0: it is for Word
	Word       string // a size as requests name it, "1K"
	Image      int64  // one picture, in the smallest amount of the currency
}

// Rates has a rate for some of the kinds, in the smallest amount of the currency: for a million tokens or for one picture.
type Rates struct {
	amounts [Kinds]int64
	given   [Kinds]bool
}

// Set gives a kind a rate.
func (r *Rates) Set(k Kind, amount int64) { r.amounts[k], r.given[k] = amount, true }

// Given returns the rate of a kind as it was set; false if it was not.
func (r *Rates) Given(k Kind) (int64, bool) { return r.amounts[k], r.given[k] }

// Of returns what a kind costs: its own rate, or that of the nearest parent that has one; 0 without either.
func (r *Rates) Of(k Kind) int64 {
	for !r.given[k] && Table[k].Parent != k {
		k = Table[k].Parent
	}
	return r.amounts[k]
}

// List has the prices in the order of the teams file.
type List []Price

// For returns the first price for a model whose day has come; false if the model has none on that day.
func (l List) For(model string, day int) (Price, bool) {
	i := slices.IndexFunc(l, func(p Price) bool { return p.From <= day && p.Pattern.Match(model) })
	if i < 0 {
		return Price{}, false
	}
	return l[i], true
}

// at returns the rates for a request of so many input tokens: those of the highest border that they pass replace the Price's.
func (p *Price) at(input int64) Rates {
	rates, passed := p.Rates, int64(-1)
	for _, b := range p.Above {
		if input <= b.Input || b.Input <= passed {
			continue
		}
		rates, passed = p.Rates, b.Input
		for k := range Kind(Kinds) {
			if amount, ok := b.Rates.Given(k); ok {
				rates.Set(k, amount)
			}
		}
	}
	return rates
}

// picture returns the rate of a picture by its pixels or, if they are not known, by the size that its request named. What no size holds
// costs the price of an image. Without that, and for a picture of unknown size, the dearest counts.
func (p *Price) picture(pixels int64, word string) int64 {
	image, ok := p.Rates.Given(Image)
	dearest, fits, smallest := image, int64(-1), int64(0)
	for _, s := range p.Images {
		dearest = max(dearest, s.Image)
		if pixels > 0 && pixels <= s.UpToPixels && (fits < 0 || s.UpToPixels < smallest) {
			fits, smallest = s.Image, s.UpToPixels
		}
	}
	if fits >= 0 {
		return fits
	}
	for _, s := range p.Images {
		if s.Word != "" && strings.EqualFold(s.Word, word) {
			return s.Image
		}
	}
	if pixels > 0 && ok {
		return image
	}
	return dearest
}
