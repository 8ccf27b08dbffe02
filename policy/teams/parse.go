package teams

import "regexp"

// Parse reads a teams file. Its error, if any, is of type [Faults] and holds everything that is wrong, not only
// the first: a file that is no YAML at all has one fault.
//
// A file says at least "teams: []", which is legal and warned of. An empty file or one that ends before its teams is
// refused, since it is more likely half-written than meant, and taking it would lock every team out.
//
// Where something is left out: a team starts from the defaults, and each limit, list and rule mode of its own takes
// the place of the defaults' one. The word none takes a limit of the defaults away. Without defaults either, a team
// may use every model and endpoint without limit.
func Parse(doc []byte) (*File, error) {
	r := &fileReader{first: map[string]int{}}
	if n, ok := r.document(doc); ok {
		teams := r.file(n)
		if len(r.faults) == 0 {
			return teams, nil
		}
	}
	return nil, r.faults.sorted()
}

var currencyWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,15}$`)

// file reads the whole document. Teams are read last, wherever they stand, since they start from the defaults.
func (r *fileReader) file(n fileNode) *File {
	t := &File{keys: map[digest]keyOwner{}, byID: map[string]*Team{}}
	start, teams := newDraft(), fileNode{}
	given := r.fields(n, []fileField{
		{"currency", func(v fileNode) { t.Currency = r.word(v, currencyWord, "a word of 1 to 16 letters and digits") }},
		{"defaults", func(v fileNode) { r.fields(v, r.shared(start)) }},
		{"account", func(v fileNode) { t.Account = r.account(v) }},
		{"teams", func(v fileNode) { teams = v }},
		{"prices", func(v fileNode) { t.Prices = r.prices(v) }},
	})
	r.require(n, given, "teams")
	if given["teams"] {
		t.List = r.teams(teams, start)
	}
	r.warnFile(n, t)
	t.index(r.warnings.sorted())
	return t
}

// teams reads the list of teams.
func (r *fileReader) teams(n fileNode, defaults *draft) (all []*Team) {
	const allowed = "a list of teams, [] for none"
	if n.isNull() {
		r.wrongKind(n, allowed)
	}
	r.items(n, allowed, func(item fileNode) {
		r.places = append(r.places, item)
		all = append(all, r.team(item, defaults))
	})
	return all
}

// index keeps the warnings and fills the maps by which teams and keys are found.
func (t *File) index(warnings Faults) {
	for _, w := range warnings {
		t.warnings = append(t.warnings, w.String())
	}
	for _, team := range t.List {
		t.byID[team.ID] = team
		for i := range team.Keys {
			key := &team.Keys[i]
			t.keys[key.SHA256] = keyOwner{key.SHA256, team, key}
		}
	}
	t.indexLabels()
}
