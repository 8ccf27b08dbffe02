package teams

import (
	"slices"
	"strings"

	"sluice/policy"
	"sluice/policy/price"
	"sluice/policy/strictyaml"
)

// Alias is another name of a model, or a pattern for other names, which only clients of the interfaces below /v1 may use.
type Alias struct {
	Pattern policy.Pattern
	Model   string // the service's name
}

// Listed is a model of the catalogue.
type Listed struct {
	ID string
	// MaxOutput is the most tokens that an answer of the model may have; 0: unknown. A larger number in a request of the interfaces below
	// /v1 is lowered to it.
	MaxOutput int64
}

// mostOutput bounds max_output, as the rule on max_tokens does.
const mostOutput = 1 << 20

// Resolve returns the service's name of a model: that of the first alias in the file that matches, any other name unchanged.
func (f *File) Resolve(name string) string {
	if i := slices.IndexFunc(f.Aliases, func(a Alias) bool { return a.Pattern.Match(name) }); i >= 0 {
		return f.Aliases[i].Model
	}
	return name
}

// MaxOutput is the most tokens that an answer of a model may have, by the service's name; 0: the catalogue does not say.
func (f *File) MaxOutput(model string) int64 {
	if i := slices.IndexFunc(f.Catalogue, func(l Listed) bool { return l.ID == model }); i >= 0 {
		return f.Catalogue[i].MaxOutput
	}
	return 0
}

// Names lists the models that the file names and the team may use, sorted: the aliases, the catalogue, and the
// patterns of the prices, of the team and more, all without a wildcard. It leaves out models without a price on the day if
// the team needs one.
func (f *File) Names(team *Team, day int, more ...policy.Pattern) []string {
	names := f.listed()
	for _, a := range f.Aliases {
		names = append(names, string(a.Pattern))
	}
	for _, p := range f.Prices {
		names = append(names, string(p.Pattern))
	}
	for _, p := range slices.Concat(team.Models, more) {
		names = append(names, string(p))
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		model := f.Resolve(name)
		return strings.Contains(name, "*") || !team.MayUseModel(model) || f.NeedsPrice(team) && f.Prices.For(model, day) == nil
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// TextModel is a model with which a team can try a text, by the service's name: of those that the file names and that the team and its key
// may use, the first with a price of output; else the first that seems to write texts; else the first without a price. own are the models
// of the key; nil: the team's. Empty: there is none.
func TextModel(f *File, team *Team, own []policy.Pattern, day int) (model string) {
	best := 0
	for _, name := range f.Names(team, day, own...) {
		if name = f.Resolve(name); own != nil && !policy.MatchAny(own, name) {
			continue
		}
		fit, p := 1, f.Prices.For(name, day)
		priced := func(k price.Kind) bool {
			_, given := p.Rates.Given(k)
			return given
		}
		switch {
		case p != nil && priced(price.Output):
			return name
		case f.MaxOutput(name) > 0, p != nil && priced(price.Input):
			fit = 2
		case p != nil: // for pictures alone
			fit = 0
		}
		if fit > best {
			model, best = name, fit
		}
	}
	return model
}

// listed are the names in the catalogue.
func (f *File) listed() (names []string) {
	for _, l := range f.Catalogue {
		names = append(names, l.ID)
	}
	return names
}

// readCatalogue reads models to list, each as its name or with what is known of it.
func readCatalogue(n strictyaml.Node) (all []Listed) {
	n.Items("a list of model names", func(item strictyaml.Node) {
		var l Listed
		if _, plain := item.Text(); plain {
			l.ID, _ = strictyaml.Read(item, modelName)
		} else {
			item.Fields(
				strictyaml.Must("id", strictyaml.One(&l.ID, modelName)),
				strictyaml.May("max_output", strictyaml.One(&l.MaxOutput, strictyaml.Whole[int64](1, mostOutput))),
			)
		}
		if l.ID != "" && slices.ContainsFunc(all, func(o Listed) bool { return o.ID == l.ID }) {
			item.Refuse(l.ID, "each model once")
		}
		all = append(all, l)
	})
	return all
}

// readAliases reads other names of models, for clients that cannot use the service's, in their order.
func readAliases(n strictyaml.Node) (all []Alias) {
	places := []strictyaml.Node{}
	n.Pairs("names with the models that they stand for", func(name string, key, value strictyaml.Node) {
		if _, ok := modelPattern.Parse(name); !ok {
			key.Refuse(name, modelPattern.Allowed)
		}
		model, _ := strictyaml.Read(value, modelName)
		all, places = append(all, Alias{policy.Pattern(name), model}), append(places, value)
	})
	for i, a := range all {
		if slices.ContainsFunc(all, func(o Alias) bool { return string(o.Pattern) == a.Model }) {
			places[i].Refuse(a.Model, "a model of the service, not another alias")
		}
		if slices.ContainsFunc(all[:i], func(o Alias) bool { return o.Pattern.Match(string(a.Pattern)) }) {
			places[i].Warn("the alias " + strictyaml.Shown(string(a.Pattern)) + " is never used: an alias above it matches the same names")
		}
	}
	return all
}
