// Package label bounds the labels of metrics: only what an operator wrote becomes one.
package label

import (
	"maps"
	"slices"
	"strings"

	"sluice/policy"
)

// Other is the label of a model that the operator does not name.
const Other = "other"

// Models are the labels of models in metrics. The zero Models knows none. Clients may send any name, so only what the operator wrote
// becomes a series: their number is bounded.
type Models struct {
	exact map[string]bool
	wild  []policy.Pattern // in the order of the file, prices first
}

// Of is the label of a model: its name if that is among the patterns, else the first pattern with a wildcard that matches it, else [Other].
// A lone * is not a label.
func (m Models) Of(model string) string {
	if m.exact[model] {
		return model
	}
	for _, p := range m.wild {
		if p.Match(model) {
			return string(p)
		}
	}
	return Other
}

// All are all labels, in no particular order.
func (m Models) All() []string {
	all := append(slices.Collect(maps.Keys(m.exact)), Other)
	for _, p := range m.wild {
		all = append(all, string(p))
	}
	return all
}

// New returns the labels of names and patterns. Of two patterns with a wildcard the first counts.
func New(names []string, patterns []policy.Pattern) Models {
	m := Models{exact: make(map[string]bool)}
	for _, name := range names {
		m.exact[name] = true
	}
	for _, p := range patterns {
		switch {
		case strings.Trim(string(p), "*") == "": // a lone * names nothing
		case !strings.Contains(string(p), "*"):
			m.exact[string(p)] = true
		case !slices.Contains(m.wild, p):
			m.wild = append(m.wild, p)
		}
	}
	return m
}
