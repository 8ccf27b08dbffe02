// Package teams defines the teams: their keys, what each may use, and its limits. They come from two owners, the teams file and
// the directory, which is changed while Sluice runs.
//
// [Parse] reads a file and reports everything that is wrong with it together; [File.Join] adds the teams of the directory;
// [File.Lookup] finds the team of a presented key. Package limit knows what a team has left of its limits.
//
// A [Spec] is a team as its owner wrote it, and a [Document] has those of the directory at one version. [Apply] makes a new
// document and an entry of the audit out of a document and a [Change]; [State.Next] chains the entry to the one before it. A
// [Store] writes both in one step, so that no change is without its entry, and [Commit] repeats a change that lost a race.
// [Proof] proves a trail. A refusal is a [Problem].
//
// Apart from [Commit], [Note] and [Prove], which call the store, everything here is pure: no I/O, no clock, no environment, no log.
// Equal input gives equal output, a returned value never changes, and no text of it contains a secret; no entry has the hash of a key.
package teams

import (
	"slices"
	"strconv"

	"sluice/policy"
	"sluice/policy/event"
	"sluice/policy/label"
	"sluice/policy/price"
	"sluice/policy/strictyaml"
	"sluice/policy/unit"
)

// File is one reading of the teams file. It never changes, so requests may use it while a newer one takes its place;
// what its fields point to MUST NOT be changed either. The zero File has no teams and knows no key.
type File struct {
	// Currency is the word for money in reports, "CNY". Empty: the file names none, and reports show bare numbers.
	Currency string
	// Money is the fraction of the currency in which amounts count (currency_digits), for every team of the file.
	Money unit.Money
	// List holds the teams in the order of the file, disabled ones too, and then those of the directory, if it was joined.
	List []*Team
	// Account holds the limits of the account at the service, shared by all teams, in the order of the file. Nil: none. With an accounts
	// file each account has its own there, and a file that has some here, too, is refused.
	Account []AccountLimit
	// House is the cap of all teams together. Nil: none.
	House *House
	// Prices holds the prices in the order of the file; the first whose pattern matches and whose day has come counts. Nil: none.
	Prices price.List
	// Catalogue has models to list for clients of the interfaces below /v1, beside those that the file names elsewhere.
	Catalogue []Listed
	// Aliases are other names of models, in the order of the file, which only those interfaces accept. See [File.Resolve].
	Aliases []Alias
	// Issuers are the parties whose tokens are accepted in place of keys. Nil: none.
	Issuers []*Issuer
	// Hooks are the operators' own: they get the events of all teams, and those that belong to no team. Nil: none.
	Hooks []event.Hook

	defaults Team // what every team starts from
	warnings []string
	keys     map[Digest]keyOwner
	byID     map[string]*Team
	labels   label.Models
	specs    map[string]Spec
}

// In is how reports write money.
func (f *File) In() unit.Currency { return unit.Currency{Word: f.Currency, Money: f.Money} }

// Warnings lists settings that are legal but possibly unintended, one line each, in the order of the file.
func (f *File) Warnings() []string { return slices.Clone(f.warnings) }

// Team returns the team with this id, or nil.
func (f *File) Team(id string) *Team { return f.byID[id] }

// Spec returns a team as the teams file has it; ok is false if the file lacks it. What it points to MUST NOT be changed.
func (f *File) Spec(id string) (team Spec, ok bool) {
	team, ok = f.specs[id]
	return team, ok
}

// Defaults is what every team starts from. It MUST NOT be changed.
func (f *File) Defaults() *Team { return &f.defaults }

// HasKey reports whether the file has a key with this SHA-256, usable or not. It must not have the upstream key: a team that
// holds that could bypass the gateway.
func (f *File) HasKey(sum Digest) bool {
	_, found := f.keys[sum]
	return found
}

// Label is the label of a model in metrics: its name if the teams file has exactly that name as a pattern, else the
// first pattern with a wildcard that matches it, prices before teams and the account, else [label.Other]. A lone * is
// not a label.
func (f *File) Label(model string) string { return f.labels.Of(model) }

// Labels are all labels that models can have in a file, in no particular order.
func Labels(f *File) []string { return f.labels.All() }

// Hooked lists the targets of an event by its type: the hooks of its team, unless team is [event.Operators]; the
// callback of its request, as [event.ReadCallback] returned it, or empty; and the operators' own hooks.
func (f *File) Hooked(team string, t event.Type, callback string) (to []event.Target) {
	if of := f.Team(team); of != nil {
		to = event.Calling(event.Wanting(to, team, of.Hooks, t), team, of.Hooks, callback)
	}
	return event.Wanting(to, event.Operators, f.Hooks, t)
}

// Hooks names the hooks of a team, or of [event.Operators].
func Hooks(f *File, owner string) (list []event.Address) {
	hooks := f.Hooks
	if owner != event.Operators {
		hooks = nil
		if team := f.Team(owner); team != nil {
			hooks = team.Hooks
		}
	}
	for i := range hooks {
		list = append(list, event.Address{Owner: owner, Hook: hooks[i].ID})
	}
	return list
}

// Parse reads a teams file. Its error, if any, is of type [Faults] and holds everything that is wrong; a file that is
// not YAML has one fault.
//
// A file must have at least "teams: []", which causes a warning. An empty file, or one that ends before its
// teams, is refused: it is probably incomplete, and to accept it would lock every team out.
//
// A team starts from the defaults. Each of its limits, lists and rule modes replaces the one in the defaults; the word none
// removes a limit of the defaults. Without a limit in the team or the defaults, use is unlimited.
func Parse(doc []byte) (*File, error) {
	f := &File{specs: map[string]Spec{}}
	var places []strictyaml.Node
	r, err := strictyaml.Parse(doc, func(root strictyaml.Node) { places = f.read(root) })
	if err != nil {
		return nil, err
	}
	f.warn(r.Root, places)
	f.warnings = r.Warned()
	for i, team := range f.List {
		f.specs[team.ID] = specOf(places[i], team)
	}
	f.index()
	return f, nil
}

var currency = strictyaml.Spelled(`^[A-Za-z][A-Za-z0-9]{0,15}$`, "a word of 1 to 16 letters and digits")

// digits is the number of decimals of an amount of money.
var digits = strictyaml.Form[unit.Money]{Allowed: "9 or 6", Bare: true, Parse: func(text string) (unit.Money, bool) {
	n, err := strconv.Atoi(text)
	m, ok := unit.MoneyOf(n)
	return m, err == nil && ok
}}

// readDigits reads the member currency_digits before all others: every amount depends on it, even one that is written
// above it.
func readDigits(root strictyaml.Node) (m unit.Money) {
	if n, ok := root.Member("currency_digits"); ok {
		m, _ = strictyaml.Read(n, digits)
	}
	return m
}

// read reads the whole document, and returns the nodes of its teams. It reads the teams last, because they start from
// the defaults.
func (f *File) read(n strictyaml.Node) (places []strictyaml.Node) {
	var teams *strictyaml.Node
	f.Money = readDigits(n)
	n.Money, f.defaults.Money = f.Money, f.Money
	n.Fields(
		strictyaml.May("currency", strictyaml.One(&f.Currency, currency)),
		strictyaml.May("currency_digits", func(strictyaml.Node) {}), // it is read already
		strictyaml.May("defaults", func(v strictyaml.Node) {
			tagQuotas := v
			v.Fields(f.defaults.shared(&tagQuotas)...)
			f.defaults.needTagKey(tagQuotas)
		}),
		strictyaml.May("account", func(v strictyaml.Node) { f.Account = readAccountLimits(v) }),
		strictyaml.May("house", func(v strictyaml.Node) { f.House = readHouse(v) }),
		strictyaml.Must("teams", func(v strictyaml.Node) { teams = &v }),
		strictyaml.May("prices", func(v strictyaml.Node) { f.Prices = readPrices(v) }),
		strictyaml.May("catalogue", func(v strictyaml.Node) { f.Catalogue = readCatalogue(v) }),
		strictyaml.May("aliases", func(v strictyaml.Node) { f.Aliases = readAliases(v) }),
		strictyaml.May("hooks", func(v strictyaml.Node) { f.Hooks = readHooks(v) }),
		strictyaml.May("issuers", func(v strictyaml.Node) { f.Issuers = readIssuers(v) }),
	)
	if teams != nil {
		f.List, places = readTeams(*teams, f.defaults, OwnerFile)
	}
	return places
}

// index fills the maps that find teams, keys and labels.
func (f *File) index() {
	f.keys, f.byID = map[Digest]keyOwner{}, map[string]*Team{}
	for _, team := range f.List {
		f.byID[team.ID] = team
		for i := range team.Keys {
			key := &team.Keys[i]
			f.keys[key.SHA256] = keyOwner{key.SHA256, team, key}
		}
	}
	var patterns []policy.Pattern
	for _, p := range f.Prices {
		patterns = append(patterns, p.Pattern)
	}
	for _, team := range f.List {
		patterns = append(patterns, team.Models...)
		for i := range team.Keys {
			patterns = append(patterns, team.Keys[i].Models...)
		}
	}
	for _, a := range f.Account {
		patterns = append(patterns, a.Models...)
	}
	f.labels = label.New(f.listed(), patterns)
}
