package directory

import (
	"encoding/json"
	"slices"
)

// Change is one change of the directory: a team created, replaced or removed, a key added, rotated or removed, or all
// teams imported.
type Change interface {
	// apply changes d, a copy whose teams it replaces whole, and returns what, team, key, before and after of the entry.
	apply(d *Document) (Entry, error)
}

// Apply makes a change. If it makes no difference, the document that is returned has the version of the one given, and no
// entry is due. An error is of type [*Error].
func Apply(d Document, change Change) (Document, Entry, error) {
	next := Document{Version: d.Version, Teams: slices.Clone(d.Teams)}
	entry, err := change.apply(&next)
	if err != nil {
		return d, Entry{}, err
	}
	version := max(next.Version, d.Version+1)
	next, err = Read(next.Text())
	switch {
	case err != nil:
		return d, Entry{}, faulty(err)
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
type CreateTeam struct{ Team Team }

func (c CreateTeam) apply(d *Document) (Entry, error) {
	at, exists := d.find(c.Team.ID)
	switch {
	case exists:
		return Entry{}, &Error{Conflict, "id", "team " + shown(c.Team.ID) + " exists", "change it, or choose another id"}
	}
	if err := c.Team.check(); err != nil {
		return Entry{}, err
	}
	d.Teams = slices.Insert(d.Teams, at, c.Team)
	return Entry{What: "team.create", Team: c.Team.ID, After: visible(c.Team)}, nil
}

// check refuses what a team that is created or replaced must not have. The strict reader judges the rest.
func (t Team) check() error {
	if len(t.Keys) > 0 {
		return &Error{Invalid, "keys", "got keys, allowed: none", "mint and remove keys one by one"}
	}
	for name, value := range t.Members {
		if !json.Valid(value) {
			return &Error{Invalid, shownName(name), "got no JSON", ""}
		}
	}
	return nil
}

// RemoveTeam removes a team that is to be removed, once [Removable] allows it: its requests end before its name is gone.
type RemoveTeam struct{ ID string }

func (c RemoveTeam) apply(d *Document) (Entry, error) {
	at, team, err := d.need(c.ID)
	if err != nil {
		return Entry{}, err
	}
	if !team.removing() {
		return Entry{}, &Error{Conflict, "removing", "team " + team.ID + " is not to be removed", "set disabled and removing first"}
	}
	d.Teams = slices.Delete(d.Teams, at, at+1)
	return Entry{What: "team.remove", Team: team.ID, Before: visible(team)}, nil
}

// need finds a team that must exist.
func (d *Document) need(id string) (int, Team, error) {
	at, ok := d.find(id)
	if !ok {
		return 0, Team{}, &Error{Missing, "id", "team " + shown(id) + " is not in the directory", "a team of the teams file is changed there"}
	}
	return at, d.Teams[at], nil
}

// removing reports whether the team is to be removed. The strict reader sees to it that it is disabled then.
func (t Team) removing() bool { return string(t.Members["removing"]) == "true" }

// visible is a team for an entry: without the hashes of its keys.
func visible(t Team) json.RawMessage {
	t.Keys = slices.Clone(t.Keys)
	for i := range t.Keys {
		t.Keys[i].SHA256 = ""
	}
	return encode(t)
}
