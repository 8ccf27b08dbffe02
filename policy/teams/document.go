package teams

import (
	"cmp"
	"fmt"
	"slices"

	"sluice/policy/strictyaml"
	"sluice/policy/unit"
)

// Document is the directory at one version. Its teams are ordered by id. What it points to MUST NOT be changed.
type Document struct {
	Version int64 // grows by one with every change; 0: no directory was written yet
	Teams   []Spec
	// Money is the teams file's, in which the amounts of the next change MUST count. The text does not contain it.
	Money unit.Money
}

// ReadDocument reads a document, in JSON or YAML, with the strict reader of the teams file. Its amounts of money may
// have the decimals of either Money, because only the teams file names one: see [File.Join]. Its error is of type
// [Faults].
func ReadDocument(text []byte) (Document, error) { return readDocument(text, unit.Nanos, true) }

func readDocument(text []byte, money unit.Money, anyMoney bool) (Document, error) {
	list, places, version, err := readDirectory(text, Team{Money: money}, anyMoney)
	if err != nil {
		return Document{}, err
	}
	d := Document{Version: version, Money: money}
	for i, team := range list {
		d.Teams = append(d.Teams, specOf(places[i], team))
	}
	slices.SortFunc(d.Teams, func(a, b Spec) int { return cmp.Compare(a.ID, b.ID) })
	return d, nil
}

// Text is the document as JSON, one line for each team. Equal documents have equal texts, and [ReadDocument] reads it again.
func (d Document) Text() []byte {
	out := fmt.Appendf(nil, "{\"version\":%d,\n\"teams\":[", d.Version)
	for i, team := range d.Teams {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, '\n'), strictyaml.Encode(team)...)
	}
	return append(out, "\n]}\n"...)
}

// Team returns the team with this id; ok is false if the directory has none.
func (d Document) Team(id string) (team Spec, ok bool) {
	i, ok := d.find(id)
	if !ok {
		return Spec{}, false
	}
	return d.Teams[i], true
}

func (d Document) find(id string) (int, bool) {
	return slices.BinarySearchFunc(d.Teams, id, func(t Spec, id string) int { return cmp.Compare(t.ID, id) })
}

// Removing returns the ids of the teams that are marked for removal.
func (d Document) Removing() (ids []string) {
	for _, team := range d.Teams {
		if team.Flag("removing") { // the strict reader ensures that it is disabled then
			ids = append(ids, team.ID)
		}
	}
	return ids
}

// Both are the teams of both owners. If both have an id, the file's team counts.
type Both struct {
	File      *File // may include the directory's teams
	Directory Document
}

// Team returns the team with this id; ok is false if neither has it.
func (b Both) Team(id string) (team Spec, ok bool) {
	if team, ok = b.File.Spec(id); ok {
		return team, true
	}
	return b.Directory.Team(id)
}

// IDs returns the ids of all teams, in order.
func (b Both) IDs() (ids []string) {
	for _, team := range b.Directory.Teams {
		ids = append(ids, team.ID)
	}
	for _, team := range b.File.List {
		if team.Owner == OwnerFile { // otherwise it is of an older directory
			ids = append(ids, team.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
