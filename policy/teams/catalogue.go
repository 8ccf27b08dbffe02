package teams

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"sluice/policy"
)

// Resolve returns the service's name of a model: what an alias stands for, any other name unchanged.
func (f *File) Resolve(name string) string {
	if model, ok := f.Aliases[name]; ok {
		return model
	}
	return name
}

// Names lists the models that the file names and the team may use, sorted: the aliases, the catalogue, and the patterns of the
// prices and of the team that have no wildcard.
func (f *File) Names(team *Team) []string {
	names := slices.AppendSeq(slices.Clone(f.Catalogue), maps.Keys(f.Aliases))
	for _, p := range f.Prices {
		names = append(names, string(p.Pattern))
	}
	for _, p := range team.Models {
		names = append(names, string(p))
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return strings.Contains(name, "*") || !f.usable(team, f.Resolve(name))
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// usable reports whether a team may use a model: with a spend quota, only one that has a price.
func (f *File) usable(team *Team, model string) bool {
	_, priced := f.Price(model)
	return team.MayUseModel(model) && (priced || !team.Spends())
}

const modelAllowed = "a model's name of 1 to 128 bytes without spaces and *"

// catalogue reads a list of model names.
func (r *fileReader) catalogue(n node) (names []string) {
	r.items(n, "a list of model names", func(item node) {
		name := r.model(item)
		if slices.Contains(names, name) && name != "" {
			r.refuse(item, name, "each model once")
		}
		names = append(names, name)
	})
	return names
}

// aliases reads other names of models, for clients that cannot use the service's.
func (r *fileReader) aliases(n node) map[string]string {
	aliases, places := map[string]string{}, map[string]node{}
	r.pairs(n, "names with the models that they stand for", func(name string, key, value node) {
		if !isModel(name) {
			r.refuse(key, name, modelAllowed)
		}
		aliases[name], places[name] = r.model(value), value
	})
	for name, model := range aliases {
		if _, again := aliases[model]; again {
			r.refuse(places[name], model, "a model of the service, not another alias")
		}
	}
	return aliases
}

// model reads the name of one model; empty if it is invalid.
func (r *reader) model(n node) string {
	text, ok := r.text(n, modelAllowed)
	if ok && !isModel(text) {
		r.refuse(n, text, modelAllowed)
		return ""
	}
	return text
}

func isModel(name string) bool {
	strange := func(c rune) bool { return !unicode.IsGraphic(c) || unicode.IsSpace(c) || c == '*' }
	return name != "" && len(name) <= 128 && !strings.ContainsFunc(name, strange)
}

// modelPatterns are names as the patterns that match them alone.
func modelPatterns(names []string) []policy.Pattern {
	patterns := make([]policy.Pattern, len(names))
	for i, name := range names {
		patterns[i] = policy.Pattern(name)
	}
	return patterns
}
