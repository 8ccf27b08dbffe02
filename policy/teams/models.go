package teams

import (
	"slices"
	"strings"

	"sluice/policy"
)

// Price is the price of a model in 10⁻⁹ of the currency, 0 to MaxAmount. A unit that the file leaves out costs 0.
type Price struct {
	Pattern          policy.Pattern // the models it is for
	Image            int64          // one image
	InputPerMillion  int64          // a million input tokens
	OutputPerMillion int64          // a million output tokens
}

// readPrices reads what models cost. It warns of a price that never counts because one before it matches all of its models.
func readPrices(n node) (all []Price) {
	n.items("a list of prices", func(item node) {
		var p Price
		given := item.fields(
			must("model", one(&p.Pattern, modelPattern)),
			may("image", one(&p.Image, money)),
			may("input_per_million", one(&p.InputPerMillion, money)),
			may("output_per_million", one(&p.OutputPerMillion, money)),
		)
		if len(given) == 1 && given["model"] {
			item.fault(Fault{Given: "no price", Allowed: "image, input_per_million, output_per_million"})
		}
		if covered(all, p.Pattern) {
			item.warn("never counts: a price before it catches all of " + shown(string(p.Pattern)))
		}
		all = append(all, p)
	})
	return all
}

// covered reports whether one of the prices matches every model that the pattern matches. A price does if it matches the
// pattern's own text, because only a star matches a star. Prices that cover the pattern only together do not count, which is good
// enough for a warning.
func covered(prices []Price, pattern policy.Pattern) bool {
	return slices.ContainsFunc(prices, func(p Price) bool { return p.Pattern.Match(string(pattern)) })
}

// readAliases reads other names of models, for clients that cannot use the service's.
func readAliases(n node) map[string]string {
	aliases, places := map[string]string{}, map[string]node{}
	n.pairs("names with the models that they stand for", func(name string, key, value node) {
		if _, ok := modelName.parse(name); !ok {
			key.refuse(name, modelName.allowed)
		}
		aliases[name], _ = read(value, modelName)
		places[name] = value
	})
	for name, model := range aliases {
		if _, again := aliases[model]; again {
			places[name].refuse(model, "a model of the service, not another alias")
		}
	}
	return aliases
}

// OtherModel is the label of a model that the teams file does not name.
const OtherModel = "other"

// labels are the labels of models in metrics. Clients may send any name, so only what the operator wrote becomes a series: their
// number is bounded.
type labels struct {
	exact map[string]bool
	wild  []policy.Pattern // in the order of the file, prices first
}

func (l labels) of(model string) string {
	if l.exact[model] {
		return model
	}
	for _, p := range l.wild {
		if p.Match(model) {
			return string(p)
		}
	}
	return OtherModel
}

func newLabels(names []string, patterns []policy.Pattern) labels {
	l := labels{exact: make(map[string]bool)}
	for _, name := range names {
		l.exact[name] = true
	}
	for _, p := range patterns {
		switch {
		case strings.Trim(string(p), "*") == "": // a lone * names nothing
		case !strings.Contains(string(p), "*"):
			l.exact[string(p)] = true
		case !slices.Contains(l.wild, p):
			l.wild = append(l.wild, p)
		}
	}
	return l
}
