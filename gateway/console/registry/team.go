package registry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/directory"
	"sluice/policy/teams"
)

// Team is a team as a person may see it: what its owner wrote, without the defaults and without the hashes of its keys.
type Team struct {
	ID      string
	Owner   teams.Owner
	Keys    []Key
	Members map[string]json.RawMessage // its other members as in the teams file, by name. MUST NOT be changed
	ETag    string                     // changes with the team; quoted, as in HTTP
}

// Key is a key as a person may see it.
type Key struct {
	ID       string      `json:"id"` // the public part
	Expires  *time.Time  `json:"expires"`
	Note     string      `json:"note"`
	LastUsed *time.Time  `json:"last_used"` // to the hour; nil: never, or longer ago than is kept
	Owner    teams.Owner `json:"owner"`
	Disabled bool        `json:"disabled,omitempty"`
}

// MarshalJSON writes id, owner and keys, and then the other members by name.
func (t Team) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal(struct {
		ID    string      `json:"id"`
		Owner teams.Owner `json:"owner"`
		Keys  []Key       `json:"keys"`
	}{t.ID, t.Owner, t.Keys})
	if err != nil {
		return nil, err
	}
	out := head[:len(head)-1]
	for _, name := range slices.Sorted(maps.Keys(t.Members)) {
		text, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		out = append(append(append(append(out, ','), text...), ':'), t.Members[name]...)
	}
	return append(out, '}'), nil
}

// Disabled reports whether none of the team's keys works.
func (t Team) Disabled() bool { return string(t.Members["disabled"]) == "true" }

// Removing reports whether the team is removed once nothing of it is open.
func (t Team) Removing() bool { return string(t.Members["removing"]) == "true" }

// shown is a team with the hours in which its keys were used.
func shown(team directory.Team, owner teams.Owner, used map[string]time.Time) Team {
	t := Team{ID: team.ID, Owner: owner, Members: team.Members, ETag: etag(team), Keys: []Key{}}
	for _, k := range team.Keys {
		key := Key{ID: k.ID, Expires: k.Expires, Note: k.Note, Owner: owner, Disabled: k.Disabled}
		if at, ok := used[k.ID]; ok {
			key.LastUsed = &at
		}
		t.Keys = append(t.Keys, key)
	}
	return t
}

// etag is a strong tag of all that the team's owner wrote.
func etag(team directory.Team) string {
	text, err := team.MarshalJSON()
	if err != nil {
		return `""`
	}
	sum := sha256.Sum256(append([]byte("etag "), text...))
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// List returns the teams that the person may see after one id, ordered by id, at most so many; more reports whether there are
// others.
func (r *Registry) List(ctx context.Context, p access.Person, after string, most int) (list []Team, more bool, err error) {
	d, used, err := r.openUsed(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, id := range r.ids(d, p) {
		switch {
		case cmp.Compare(id, after) <= 0:
			continue
		case len(list) == most:
			return list, true, nil
		}
		team, owner, err := r.find(d, p, id)
		switch {
		case errors.Is(err, errNoTeam): // it left the file meanwhile
			continue
		case err != nil:
			return nil, false, err
		}
		list = append(list, shown(team, owner, used))
	}
	return list, false, nil
}

// ids are those of the teams that the person may see, in order.
func (r *Registry) ids(d directory.Document, p access.Person) (ids []string) {
	for _, team := range d.Teams {
		ids = append(ids, team.ID)
	}
	file := r.File()
	for _, team := range file.List {
		if file.Text(team.ID) != nil { // else it is of the directory
			ids = append(ids, team.ID)
		}
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !p.Sees(id) })
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Show returns one team.
func (r *Registry) Show(ctx context.Context, p access.Person, id string) (Team, error) {
	d, used, err := r.openUsed(ctx)
	if err != nil {
		return Team{}, err
	}
	team, owner, err := r.find(d, p, id)
	return shown(team, owner, used), err
}
