package teams

import (
	"slices"
	"strings"

	"sluice/policy"
)

// OtherModel is the label of a model that nobody named.
const OtherModel = "other"

// labels are the words that stand for models in metrics. Clients may ask for any name; a series for each would be
// without bound, so that only what the operator wrote becomes one.
type labels struct {
	exact map[string]bool
	wild  []policy.Pattern // in the order of the file, prices first
}

// Label is the word for a model in metrics: its name where the teams file has just that name as a pattern, else the first
// pattern with a wildcard that matches it, prices before teams and the account, else [OtherModel]. A lone * names nothing.
func (t *File) Label(model string) string {
	if t.labels.exact[model] {
		return model
	}
	for _, p := range t.labels.wild {
		if p.Match(model) {
			return string(p)
		}
	}
	return OtherModel
}

func (t *File) indexLabels() {
	t.labels.exact = make(map[string]bool)
	for _, p := range t.Prices {
		t.labels.add(p.Pattern)
	}
	for _, team := range t.List {
		for _, p := range team.Models {
			t.labels.add(p)
		}
	}
	for _, a := range t.Account {
		for _, p := range a.Models {
			t.labels.add(p)
		}
	}
}

func (l *labels) add(p policy.Pattern) {
	switch {
	case strings.Trim(string(p), "*") == "":
	case !strings.Contains(string(p), "*"):
		l.exact[string(p)] = true
	case !slices.Contains(l.wild, p):
		l.wild = append(l.wild, p)
	}
}
