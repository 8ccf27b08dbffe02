package teams

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"sluice/policy/strictyaml"
	"sluice/policy/unit"
)

// Change is one change of the directory: a team created, replaced, ended or removed, a key added, replaced, changed or removed, or all
// teams imported.
type Change interface {
	// apply changes d, a copy in which it replaces whole teams, and returns what, team, key, before and after of the entry.
	apply(d *Document) (Entry, error)
}

// Apply makes a change. If it makes no difference, the returned document has the version of the given one, and no entry is
// needed. Amounts of money count in the given document's Money. An error is of type [*Problem].
func Apply(d Document, change Change) (Document, Entry, error) {
	next := Document{Version: d.Version, Teams: slices.Clone(d.Teams), Money: d.Money}
	entry, err := change.apply(&next)
	if err != nil {
		return d, Entry{}, err
	}
	version := max(next.Version, d.Version+1)
	next, err = readDocument(next.Text(), d.Money, false)
	switch {
	case err != nil:
		return d, Entry{}, problemOf(err)
	case string(next.at(d.Version).Text()) == string(d.Text()):
		return d, Entry{}, nil
	}
	return next.at(version), entry, nil
}

// at is the document with another version.
func (d Document) at(version int64) Document {
	d.Version = version
	return d
}

// CreateTeam adds a team. Its Keys must be empty: keys are minted.
type CreateTeam struct{ Team Spec }

func (c CreateTeam) apply(d *Document) (Entry, error) {
	at, exists := d.find(c.Team.ID)
	switch {
	case exists:
		return Entry{}, &Problem{
			Code: CodeConflict, Field: "id", Text: "team " + shownID(c.Team.ID) + " exists", Advice: "change it, or choose another id",
		}
	case len(c.Team.Keys) > 0:
		return Entry{}, notAllowed(CodeInvalid, "keys", "keys", "none", "make the team, and then its keys")
	}
	members, err := normalMembers(c.Team.Members)
	if err != nil {
		return Entry{}, err
	}
	team := Spec{ID: c.Team.ID, Owner: OwnerDirectory, Members: members}
	d.Teams = slices.Insert(d.Teams, at, team)
	return Entry{What: "team.create", Team: team.ID, After: strictyaml.Encode(team.Shown())}, nil
}

// normalMembers brings members to the form of a document. The strict reader judges them.
func normalMembers(given map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	for name, value := range given {
		tree, err := treeOf(value)
		switch {
		case err != nil:
			return nil, noJSON(name)
		case tree != nil: // null equals no member
			members[name] = strictyaml.Encode(tree) // in one form: without blanks, members sorted by name, numbers as written
		}
	}
	return members, nil
}

// ReplaceTeam replaces every member of a team but its id and keys. The keys stay as they are, but setting or lowering key_days
// gives an earlier end to each key that has none or a later one.
type ReplaceTeam struct {
	Team    Spec   // Keys are nil or unchanged, because they are changed one by one
	IfMatch string // as in HTTP: the ETag that the team must have, or a list of which it must have one; "*": any
	Now     time.Time
}

func (c ReplaceTeam) apply(d *Document) (Entry, error) {
	at, before, err := d.need(c.Team.ID, c.IfMatch)
	if err == nil && c.Team.Keys != nil && !sameKeys(c.Team.Keys, before.Keys) {
		err = &Problem{
			Code: CodeInvalid, Field: "keys", Text: "the keys are not those of the team", Allowed: "the keys as they are, or no such member",
			Advice: "make and end keys one by one",
		}
	}
	if err != nil {
		return Entry{}, err
	}
	members, err := normalMembers(c.Team.Members)
	if err != nil {
		return Entry{}, err
	}
	after := Spec{ID: before.ID, Owner: before.Owner, Keys: slices.Clone(before.Keys), Members: members}
	if days, was := after.keyDays(0), before.keyDays(0); days > 0 && (was == 0 || days < was) {
		last := endOf(c.Now, days)
		for i, k := range after.Keys {
			if k.Expires.IsZero() || k.Expires.After(last) {
				after.Keys[i].Expires = last
			}
		}
	}
	d.Teams[at] = after
	return Entry{What: "team.change", Team: after.ID, Before: before.unlike(after), After: after.unlike(before)}, nil
}

// sameKeys reports whether given keys equal those of a team, except for the digests, which are not known.
func sameKeys(given, keys []Key) bool {
	return slices.EqualFunc(given, keys, func(g, k Key) bool {
		return g.Expires.Equal(k.Expires) && g.ID == k.ID && g.Note == k.Note && g.Disabled == k.Disabled && g.Written().same(k)
	})
}

// need finds a team that must exist, and must have one of these ETags.
func (d *Document) need(id, ifMatch string) (int, Spec, error) {
	at, ok := d.find(id)
	switch {
	case !ok:
		return 0, Spec{}, &Problem{
			Code: CodeMissing, Field: "id", Text: "team " + shownID(id) + " is not in the directory",
			Advice: "a team of the teams file is changed there",
		}
	case !d.Teams[at].matches(ifMatch):
		return 0, Spec{}, &Problem{
			Code: CodeLost, Field: "If-Match", Text: "the team has changed since you read it", Allowed: "the ETag that the team has now",
			Advice: "read the team again and repeat the change",
		}
	}
	return at, d.Teams[at], nil
}

// EndTeam disables a team, so that its keys stop working immediately, and marks it for removal. Until it is removed it can be
// enabled again, by replacing it without both members.
type EndTeam struct {
	ID, IfMatch string // as in ReplaceTeam
	Now         time.Time
}

func (c EndTeam) apply(d *Document) (Entry, error) {
	_, team, err := d.need(c.ID, c.IfMatch)
	if err != nil {
		return Entry{}, err
	}
	members := maps.Clone(team.Members)
	members["disabled"], members["removing"] = json.RawMessage("true"), json.RawMessage("true")
	return ReplaceTeam{Team: Spec{ID: c.ID, Members: members}, IfMatch: "*", Now: c.Now}.apply(d)
}

// RemoveTeam removes a team that is marked for removal, once [Removable] allows it: its id is free only when its
// requests have ended.
type RemoveTeam struct{ ID string }

func (c RemoveTeam) apply(d *Document) (Entry, error) {
	at, team, err := d.need(c.ID, "*")
	if err != nil {
		return Entry{}, err
	}
	if !team.Flag("removing") {
		return Entry{}, &Problem{
			Code: CodeConflict, Field: "removing", Text: "team " + team.ID + " is not to be removed", Advice: "set disabled and removing first",
		}
	}
	d.Teams = slices.Delete(d.Teams, at, at+1)
	return Entry{What: "team.remove", Team: team.ID, Before: strictyaml.Encode(team.Shown())}, nil
}

// mostImported is the largest version with which an import may begin. Larger ones are left for later changes.
const mostImported = unit.Most / 2

// Import replaces all teams with those of a document. It keeps the document's version if there was no directory, so
// that a restored directory equals the exported one.
//
// An import is refused if its document names the version that it was made from and the directory has another one now,
// because it would undo later changes. A second import makes no difference.
type Import struct {
	Document Document
	Force    bool // replaces any version
}

func (c Import) apply(d *Document) (Entry, error) {
	given, was := c.Document, d.Version
	stale := was != 0 && given.Version != 0 && given.Version != was
	version := strconv.FormatInt(given.Version, 10)
	if same := string(given.at(was).Text()) == string(d.Text()); stale && !same && !c.Force {
		return Entry{}, notAllowed(CodeConflict, "version", version, fmt.Sprintf("%d, which is the directory's", was),
			"export it again and repeat the change, or use --force to undo what was changed since")
	}
	if was == 0 && given.Version > mostImported {
		return Entry{}, notAllowed(CodeInvalid, "version", version, fmt.Sprintf("at most %d", int64(mostImported)), "leave it out")
	}
	before, after := difference(*d, given), difference(given, *d)
	d.Teams = given.Teams
	if was == 0 {
		d.Version = given.Version
	}
	return Entry{What: "directory.import", Before: before, After: after}, nil
}

// difference returns by id the teams of a document that another one lacks, and the differing parts of the others; nil:
// no difference.
func difference(d, other Document) json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, team := range d.Teams {
		twin, ok := other.Team(team.ID)
		text := strictyaml.Encode(team.Shown())
		if ok {
			text = team.unlike(twin)
		}
		if text != nil {
			all[team.ID] = text
		}
	}
	if len(all) == 0 {
		return nil
	}
	return strictyaml.Encode(all)
}
