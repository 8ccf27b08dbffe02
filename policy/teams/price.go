package teams

import (
	"slices"

	"sluice/policy"
)

// Price is the price of a model in 10⁻⁹ of the currency, 0 to MaxAmount. A unit that the file leaves out costs 0.
type Price struct {
	Pattern          policy.Pattern // the models it is for
	Image            int64          // one image
	InputPerMillion  int64          // a million input tokens
	OutputPerMillion int64          // a million output tokens
}

// Price returns the first price whose pattern matches the model's name; ok is false if none does.
func (f *File) Price(model string) (price Price, ok bool) {
	for _, p := range f.Prices {
		if p.Pattern.Match(model) {
			return p, true
		}
	}
	return Price{}, false
}

// prices reads what models cost.
func (r *fileReader) prices(n node) (prices []Price) {
	r.items(n, "a list of prices", func(item node) {
		var p Price
		given := r.fields(item, []field{
			{"model", func(v node) { p.Pattern = r.pattern(v) }},
			{"image", func(v node) { p.Image, _ = r.money(v) }},
			{"input_per_million", func(v node) { p.InputPerMillion, _ = r.money(v) }},
			{"output_per_million", func(v node) { p.OutputPerMillion, _ = r.money(v) }},
		})
		r.require(item, given, "model")
		if len(given) == 1 && given["model"] {
			r.fault(item, "got no price, allowed: image, input_per_million, output_per_million")
		}
		r.warnPrice(item, prices, p)
		prices = append(prices, p)
	})
	return prices
}

// warnPrice warns of a price that never counts because one before it matches all of its models.
func (r *fileReader) warnPrice(n node, before []Price, p Price) {
	if covered(before, p.Pattern) {
		r.warn(n, "never counts: a price before it catches all of "+shown(string(p.Pattern)))
	}
}

// covered reports whether one of the prices matches every model that the pattern matches. It does where it matches the
// pattern's own text, because only a star matches a star. Two prices that cover the pattern together do not count; for
// a warning that is near enough.
func covered(prices []Price, pattern policy.Pattern) bool {
	return slices.ContainsFunc(prices, func(p Price) bool { return p.Pattern.Match(string(pattern)) })
}
