package teams

import (
	"regexp"
	"slices"

	"sluice/policy/strictyaml"
	"sluice/policy/unit"
)

// Join returns the teams of the file and, after them, those of a directory's document: teams that are changed while Sluice runs.
// A document has the schema of a teams file with only version and teams; its teams start from the file's defaults. The file
// itself does not change.
//
// A name has one owner. A team of the document whose id is in the file is ignored, and so is a key whose id or SHA-256 is in the
// file, or whose SHA-256 is among upstream, those of the service's own keys; ignored has a fault for each. An error, of type [Faults],
// means that the document is faulty as a whole.
func (f *File) Join(document []byte, upstream ...Digest) (joined *File, ignored strictyaml.Faults, err error) {
	list, _, _, err := readDirectory(document, f.defaults, false)
	if err != nil {
		return nil, nil, err
	}
	ids := make(map[string]bool)
	for _, team := range f.List {
		for _, key := range team.Keys {
			ids[key.ID] = true
		}
	}
	all := *f
	joined = &all
	joined.List = slices.Clone(f.List)
	for _, team := range list {
		if f.Team(team.ID) != nil {
			ignored = append(ignored, strictyaml.Fault{Text: "team " + team.ID +
				" is in the teams file and in the directory: the file's counts; remove one of the two"})
			continue
		}
		team.Keys = slices.DeleteFunc(team.Keys, func(k Key) bool {
			var fault string
			switch {
			case ids[k.ID] || f.HasKey(k.SHA256):
				fault = "is in the teams file, too: the file's counts; remove it from the directory"
			case slices.Contains(upstream, k.SHA256):
				fault = "is the upstream key, with which the team can go around the gateway: it does not work; remove it from the directory"
			default:
				return false
			}
			ignored = append(ignored, strictyaml.Fault{Text: "key " + k.ID + " of team " + team.ID + " " + fault})
			return true
		})
		joined.List = append(joined.List, team)
	}
	joined.index()
	return joined, ignored, nil
}

// ofTheFile matches the fields of a teams file that a directory's document may not have.
var ofTheFile = regexp.MustCompile(`^(currency|currency_digits|defaults|account|house|prices|catalogue|aliases|hooks|issuers)$`)

// readDirectory reads a directory's document. Its amounts count in the Money of the defaults, or, with anyMoney, in
// either Money.
func readDirectory(document []byte, defaults Team, anyMoney bool) (list []*Team, places []strictyaml.Node, version int64, err error) {
	_, err = strictyaml.Parse(document, func(root strictyaml.Node) {
		root.Money, root.AnyMoney = defaults.Money, anyMoney
		root.Fields(
			strictyaml.May("version", strictyaml.One(&version, strictyaml.Whole[int64](0, unit.Most))),
			strictyaml.Must("teams", func(n strictyaml.Node) { list, places = readTeams(n, defaults, OwnerDirectory) }),
		)
		root.Amend(func(f *strictyaml.Fault) {
			if f.Text == strictyaml.UnknownField && ofTheFile.MatchString(f.Field) {
				f.Text, f.Advice = "belongs only in the teams file", ""
			}
		})
	})
	return list, places, version, err
}
