package policy

import (
	"regexp"

	"github.com/goccy/go-yaml/parser"
)

// ParseTeams reads a teams file. Its error, if any, is of type [Faults] and holds everything that is wrong, not only
// the first.
func ParseTeams(doc []byte) (*Teams, error) {
	r := &fileReader{}
	file, err := parser.ParseBytes(doc, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, Faults{{Text: "not YAML"}}
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, Faults{{Text: "not one YAML document"}}
	}
	teams := r.file(fileNode{ast: file.Docs[0].Body})
	if len(r.faults) > 0 {
		return nil, r.faults
	}
	return teams, nil
}

var currencyWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,15}$`)

// file reads the whole document. Teams are read last, wherever they stand, since they start from the defaults.
func (r *fileReader) file(n fileNode) *Teams {
	t := &Teams{keys: map[digest]keyOwner{}, byID: map[string]*Team{}}
	var defaults, teams fileNode
	r.fields(n, []fileField{
		{"currency", func(v fileNode) { t.Currency = r.word(v, currencyWord, "a word of 1 to 16 letters and digits") }},
		{"defaults", func(v fileNode) { defaults = v }},
		{"account", func(v fileNode) { t.Account = r.account(v) }},
		{"teams", func(v fileNode) { teams = v }},
		{"prices", func(v fileNode) { t.Prices = r.prices(v) }},
	})
	start := newDraft()
	if defaults.ast != nil {
		r.fields(defaults, r.shared(start))
	}
	if teams.ast != nil {
		r.items(teams, "a list of teams", func(item fileNode) { t.List = append(t.List, r.team(item, start)) })
	}
	t.index()
	return t
}

// index fills the maps by which teams and keys are found.
func (t *Teams) index() {
	for _, team := range t.List {
		t.byID[team.ID] = team
		for i := range team.Keys {
			key := &team.Keys[i]
			t.keys[key.SHA256] = keyOwner{key.SHA256, team, key}
		}
	}
}
