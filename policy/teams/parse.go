package teams

import "regexp"

// Parse reads a teams file. Its error, if any, is of type [Faults] and holds everything that is wrong; a file that is
// not YAML has one fault.
//
// A file must have at least "teams: []", which is allowed with a warning. An empty file, or one that ends before its
// teams, is refused: it is more likely half-written than meant, and to accept it would lock every team out.
//
// A team starts from the defaults. Each of its limits, lists and rule modes replaces the one in the defaults; the word
// none removes a limit of the defaults. What neither the team nor the defaults limit is unlimited.
func Parse(doc []byte) (*File, error) {
	r := newFileReader(OwnerFile)
	if n, ok := r.document(doc); ok {
		if file := r.file(n); len(r.faults) == 0 {
			file.texts = r.texts(file.List)
			return file, nil
		}
	}
	return nil, r.faults.sorted()
}

func newFileReader(owner Owner) *fileReader {
	return &fileReader{reader: reader{first: map[string]int{}}, owner: owner}
}

var currencyWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,15}$`)

// file reads the whole document. It reads the teams last, because they start from the defaults.
func (r *fileReader) file(n node) *File {
	f := &File{keys: map[digest]keyOwner{}, byID: map[string]*Team{}}
	start, teams := newDraft(), node{}
	f.defaults = start
	given := r.fields(n, []field{
		{"currency", func(v node) { f.Currency = r.word(v, currencyWord, "a word of 1 to 16 letters and digits") }},
		{"defaults", func(v node) {
			r.fields(v, r.shared(start))
			r.needTagKey(start)
		}},
		{"account", func(v node) { f.Account = r.account(v) }},
		{"teams", func(v node) { teams = v }},
		{"prices", func(v node) { f.Prices = r.prices(v) }},
		{"catalogue", func(v node) { f.Catalogue = r.catalogue(v) }},
		{"aliases", func(v node) { f.Aliases = r.aliases(v) }},
		{"issuers", func(v node) { f.Issuers = r.issuers(v) }},
	})
	r.require(n, given, "teams")
	if given["teams"] {
		f.List = r.teams(teams, start)
	}
	r.warnFile(n, f)
	f.index(r.warnings.sorted())
	return f
}

// teams reads the list of teams.
func (r *fileReader) teams(n node, defaults *draft) (all []*Team) {
	const allowed = "a list of teams, [] for none"
	if n.isNull() {
		r.wrongKind(n, allowed)
	}
	r.items(n, allowed, func(item node) {
		r.places = append(r.places, item)
		all = append(all, r.team(item, defaults))
	})
	return all
}

// texts are the teams, which were read without a fault, as JSON by id.
func (r *fileReader) texts(read []*Team) map[string][]byte {
	texts := make(map[string][]byte, len(read))
	for i, team := range read {
		texts[team.ID] = appendJSON(nil, r.places[i].ast)
	}
	return texts
}

// index keeps the warnings and fills the maps that find teams, keys and labels.
func (f *File) index(warnings Faults) {
	for _, w := range warnings {
		f.warnings = append(f.warnings, w.String())
	}
	for _, team := range f.List {
		f.byID[team.ID] = team
		for i := range team.Keys {
			key := &team.Keys[i]
			f.keys[key.SHA256] = keyOwner{key.SHA256, team, key}
		}
	}
	f.labels = newLabels(f)
}
