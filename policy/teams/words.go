package teams

import (
	"slices"

	"sluice/policy"
)

// endpoints reads the list of endpoints that a team may use.
func (r *fileReader) endpoints(n fileNode) []policy.Endpoint {
	var all []policy.Endpoint
	words := make([]string, len(policy.Endpoints))
	for i, e := range policy.Endpoints {
		words[i] = string(e)
	}
	r.some(n, "endpoints", func(item fileNode) {
		text, ok := r.text(item, list(words))
		if ok && !slices.Contains(words, text) {
			r.refuse(item, text, list(words))
		}
		all = append(all, policy.Endpoint(text))
	})
	return all
}

// modes reads modes by rule id.
func (r *fileReader) modes(n fileNode) policy.Modes {
	modes, ids := policy.Modes{}, policy.RuleIDs()
	r.pairs(n, "modes by rule id", func(id string, key, value fileNode) {
		if !slices.Contains(ids, id) {
			r.faults = append(r.faults, faultAt(key, unknownRule(id, ids)).showing(id))
		}
		text, ok := r.text(value, list(modeNames))
		if ok && !slices.Contains(modeNames, text) {
			r.refuse(value, text, list(modeNames))
		}
		modes[id] = policy.Mode(text)
	})
	return modes
}

// prices reads what models cost.
func (r *fileReader) prices(n fileNode) (prices []Price) {
	r.items(n, "a list of prices", func(item fileNode) {
		var p Price
		given := r.fields(item, []fileField{
			{"model", func(v fileNode) { p.Pattern = r.pattern(v) }},
			{"image", func(v fileNode) { p.Image, _ = r.money(v) }},
			{"input_per_million", func(v fileNode) { p.InputPerMillion, _ = r.money(v) }},
			{"output_per_million", func(v fileNode) { p.OutputPerMillion, _ = r.money(v) }},
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
