package registry

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sluice/policy/directory"
	"sluice/policy/teams"
)

// Draft is a team as a person wants it.
type Draft struct {
	ID      string
	Members map[string]json.RawMessage // its members but id, owner and keys
	Keys    []Key                      // of a team that is replaced: nil, or as they are, because they are changed one by one
}

func (d Draft) team() directory.Team { return directory.Team{ID: d.ID, Members: d.Members} }

// Create makes a team of the directory, without keys.
func (r *Registry) Create(ctx context.Context, a Actor, draft Draft) (Team, error) {
	switch {
	case !a.Changes():
		return Team{}, errMayNot
	case r.File().Text(draft.ID) != nil:
		return Team{}, errOfFile
	case len(draft.Keys) > 0:
		return Team{}, &Error{Field: "keys", Text: "a new team has no keys", Given: "keys", Allowed: "none", Advice: "make the team, and then its keys"}
	}
	return r.change(ctx, a, draft.ID, func(directory.Document) (directory.Change, error) {
		return directory.CreateTeam{Team: draft.team()}, nil
	})
}

// Replace replaces every member of a team of the directory but its id and keys. ifMatch is the ETag that the team must have, or
// several of which it must have one, as in HTTP; "*": any.
func (r *Registry) Replace(ctx context.Context, a Actor, draft Draft, ifMatch string) (Team, error) {
	return r.change(ctx, a, draft.ID, func(d directory.Document) (directory.Change, error) {
		team, err := r.need(d, a.Person, draft.ID, a.Changes())
		switch {
		case err != nil:
			return nil, err
		case !matches(ifMatch, team):
			return nil, errLost
		case draft.Keys != nil && !sameKeys(draft.Keys, team.Keys):
			return nil, &Error{Field: "keys", Text: "the keys are not those of the team", Allowed: "the keys as they are, or no such member", Advice: "make and end keys one by one"}
		}
		return directory.ReplaceTeam{Team: draft.team(), Now: r.Now()}, nil
	})
}

// matches reports whether a team has one of the ETags of an If-Match. A weak one is none, because it may be of another content.
func matches(ifMatch string, team directory.Team) bool {
	if strings.TrimSpace(ifMatch) == "*" {
		return true
	}
	tag := etag(team)
	for rest := ifMatch; rest != ""; {
		rest = strings.TrimLeft(rest, " \t,")
		one := entityTag.FindString(rest)
		rest = strings.TrimLeft(rest[len(one):], " \t")
		switch {
		case one == "" || rest != "" && rest[0] != ',':
			return false
		case one == tag:
			return true
		}
	}
	return false
}

// entityTag is one ETag at the beginning of a list.
var entityTag = regexp.MustCompile(`^(W/)?"[^"]*"`)

// sameKeys reports whether given keys say the same as those of a team. When they were used does not count.
func sameKeys(given []Key, keys []directory.Key) bool {
	return slices.EqualFunc(given, keys, func(g Key, k directory.Key) bool {
		ends := g.Expires == nil && k.Expires == nil || g.Expires != nil && k.Expires != nil && g.Expires.Equal(*k.Expires)
		return ends && g.ID == k.ID && g.Note == k.Note && g.Disabled == k.Disabled
	})
}

// change makes a change of the directory and returns the team as it is then.
func (r *Registry) change(ctx context.Context, a Actor, id string, decide func(directory.Document) (directory.Change, error)) (Team, error) {
	d, err := r.commit(ctx, a, decide)
	if err != nil {
		return Team{}, err
	}
	team, _ := d.Team(id)
	used, err := r.Directory.Used(ctx)
	if err != nil {
		used = nil // the change is made
	}
	return shown(team, teams.OwnerDirectory, used), nil
}

// Delete disables a team of the directory, so that its keys end at once, and says that it is to be removed: the replicas do that once
// nothing of it is open and all have seen it. Until then it can be enabled again, without the member removing. ifMatch is the ETag that
// the team must have; empty or "*": any.
func (r *Registry) Delete(ctx context.Context, a Actor, id, ifMatch string) (Team, error) {
	return r.change(ctx, a, id, func(d directory.Document) (directory.Change, error) {
		now, err := r.need(d, a.Person, id, a.Changes())
		switch {
		case err != nil:
			return nil, err
		case ifMatch != "" && !matches(ifMatch, now):
			return nil, errLost
		}
		now.Members = maps.Clone(now.Members)
		now.Members["disabled"], now.Members["removing"] = json.RawMessage("true"), json.RawMessage("true")
		now.Keys = nil
		return directory.ReplaceTeam{Team: now, Now: r.Now()}, nil
	})
}
