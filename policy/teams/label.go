package teams

import (
	"slices"
	"strings"

	"sluice/policy"
)

// OtherModel is the label of a model that the teams file does not name.
const OtherModel = "other"

// labels are the words that stand for models in metrics. Clients may send any name, so only what the operator wrote
// becomes a series: their number is bounded.
type labels struct {
	exact map[string]bool
	wild  []policy.Pattern // in the order of the file, prices first
}

// Label is the word for a model in metrics: its name if the teams file has just that name as a pattern, else the first
// pattern with a wildcard that matches it, prices before teams and the account, else [OtherModel]. A lone * names nothing.
func (f *File) Label(model string) string {
	if f.labels.exact[model] {
		return model
	}
	for _, p := range f.labels.wild {
		if p.Match(model) {
			return string(p)
		}
	}
	return OtherModel
}

func newLabels(f *File) labels {
	l := labels{exact: make(map[string]bool)}
	for _, p := range f.Prices {
		l.add(p.Pattern)
	}
	for _, team := range f.List {
		l.add(team.Models...)
	}
	for _, a := range f.Account {
		l.add(a.Models...)
	}
	l.add(modelPatterns(f.Catalogue)...)
	return l
}

func (l *labels) add(patterns ...policy.Pattern) {
	for _, p := range patterns {
		switch {
		case strings.Trim(string(p), "*") == "": // a lone * names nothing
		case !strings.Contains(string(p), "*"):
			l.exact[string(p)] = true
		case !slices.Contains(l.wild, p):
			l.wild = append(l.wild, p)
		}
	}
}
