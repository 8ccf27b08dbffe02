package registry

import (
	"context"
	"errors"
	"regexp"
	"time"

	"sluice/gateway/console/access"
	"sluice/policy/directory"
	"sluice/policy/teams"
)

// rotateAfter is how long the old key works beside the new one, if the person does not say.
const rotateAfter = 24 * time.Hour

// KeyOrder is a key to make.
type KeyOrder struct {
	Expires  time.Time // zero: as late as the team's key_days allow
	Note     string
	Replaces string    // the id of a key that ends; empty: none
	Ends     time.Time // when that key ends, if not before; zero: in 24 hours
}

// NewKey is a key that was made. Its secret is kept nowhere.
type NewKey struct {
	ID      string     `json:"id"`
	Key     string     `json:"key"` // the whole key. Show it to the person once
	Expires *time.Time `json:"expires"`
}

// Keys returns the keys of a team.
func (r *Registry) Keys(ctx context.Context, p access.Person, team string) ([]Key, error) {
	t, err := r.Show(ctx, p, team)
	return t.Keys, err
}

// Mint makes a key of a team of the directory.
func (r *Registry) Mint(ctx context.Context, a Actor, team string, o KeyOrder) (NewKey, error) {
	minted, err := teams.MintKey(r.Random)
	if err != nil {
		return NewKey{}, Unavailable("no key can be made at the moment", err)
	}
	t, err := r.changeKeys(ctx, a, team, func(now directory.Team) (directory.Change, error) {
		key := directory.NewKey{Minted: minted, Expires: o.Expires, Note: o.Note, Now: r.Now(), DefaultDays: r.File().DefaultKeyDays()}
		if o.Replaces == "" {
			return directory.AddKey{Team: team, Key: key}, nil
		}
		ends := o.Ends
		if ends.IsZero() {
			ends = r.Now().Add(rotateAfter)
		}
		return directory.RotateKey{Team: team, Old: o.Replaces, Key: key, OldEnds: ends}, known(now, o.Replaces)
	})
	if err != nil {
		return NewKey{}, ofKey(err)
	}
	made := NewKey{ID: minted.ID, Key: minted.Reveal()}
	for _, k := range t.Keys {
		if k.ID == minted.ID {
			made.Expires = k.Expires
		}
	}
	return made, nil
}

var placeOfKey = regexp.MustCompile(`^keys\[[0-9]+\]\.`)

// ofKey is an error about a new key without the place where the key would stand in the team.
func ofKey(err error) error {
	var e *Error
	if !errors.As(err, &e) || !placeOfKey.MatchString(e.Field) {
		return err
	}
	short := *e
	short.Field = placeOfKey.ReplaceAllString(e.Field, "")
	return &short
}

// EndKey removes a key of a team of the directory, which no longer works then.
func (r *Registry) EndKey(ctx context.Context, a Actor, team, key string) error {
	_, err := r.changeKeys(ctx, a, team, func(now directory.Team) (directory.Change, error) {
		return directory.RemoveKey{Team: team, Key: key}, known(now, key)
	})
	return err
}

// changeKeys makes a change of a team whose keys the person may make and end.
func (r *Registry) changeKeys(ctx context.Context, a Actor, id string, decide func(now directory.Team) (directory.Change, error)) (Team, error) {
	counted := false
	return r.change(ctx, a, id, func(d directory.Document) (directory.Change, error) {
		now, err := r.needKeys(d, a.Person, id)
		if err == nil && !counted {
			err, counted = r.paced(a, id, costKeys), true
		}
		if err != nil {
			return nil, err
		}
		return decide(now)
	})
}

// needKeys is a team of the directory whose keys the person may make and end.
func (r *Registry) needKeys(d directory.Document, p access.Person, id string) (directory.Team, error) {
	team, _, err := r.find(d, p, id)
	if err != nil {
		return team, err
	}
	return r.need(d, p, id, p.MakesKeys(id, string(team.Members["self_service"]) == "true"))
}

func known(team directory.Team, key string) error {
	for _, k := range team.Keys {
		if k.ID == key {
			return nil
		}
	}
	return errNoKey
}
