package teams

import (
	"slices"
	"strings"

	"sluice/policy"
)

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
