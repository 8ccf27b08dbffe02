package directory

import (
	"slices"
	"strconv"
	"time"

	"sluice/policy/teams"
)

// maxKeys is how many keys a team of the directory may have.
const maxKeys = 100

// NewKey is a key to add, as [teams.MintKey] made it. The key itself is shown to its owner and kept nowhere.
type NewKey struct {
	Minted  teams.MintedKey
	Expires time.Time // the first moment at which it no longer works; zero: as late as the team's key_days allow, else never
	Note    string    // for people, as in the teams file
	Now     time.Time
	// DefaultDays is key_days of the teams file's defaults, 0: none.
	DefaultDays int
}

// AddKey adds a key to a team.
type AddKey struct {
	Team string
	Key  NewKey
}

func (c AddKey) apply(d *Document) (Entry, error) {
	at, team, err := d.need(c.Team)
	if err != nil {
		return Entry{}, err
	}
	key, err := c.Key.of(team)
	if err != nil {
		return Entry{}, err
	}
	return d.rekey(at, "key.add", key.ID, append(slices.Clone(team.Keys), key)), nil
}

// RotateKey adds a key to a team, and the old one ends at OldEnds, or before if it had an earlier end.
type RotateKey struct {
	Team, Old string
	Key       NewKey // without a note it takes over the old one's
	OldEnds   time.Time
}

func (c RotateKey) apply(d *Document) (Entry, error) {
	at, team, err := d.need(c.Team)
	if err != nil {
		return Entry{}, err
	}
	i, err := team.needKey(c.Old)
	if err != nil {
		return Entry{}, err
	}
	old := team.Keys[i]
	if c.Key.Note == "" {
		c.Key.Note = old.Note
	}
	key, err := c.Key.of(team)
	if err != nil {
		return Entry{}, err
	}
	ends := c.OldEnds.UTC().Truncate(time.Second)
	if !writable(ends) {
		return Entry{}, &Error{Invalid, "old_ends", "got no moment of the years 1 to 9999, allowed: one such as 2027-06-30T00:00:00Z", ""}
	}
	if old.Expires == nil || old.Expires.After(ends) {
		old.Expires = &ends
	}
	keys := append(slices.Clone(team.Keys), key)
	keys[i] = old
	return d.rekey(at, "key.rotate", key.ID, keys), nil
}

// RemoveKey removes a key, which no longer works then.
type RemoveKey struct{ Team, Key string }

func (c RemoveKey) apply(d *Document) (Entry, error) {
	at, team, err := d.need(c.Team)
	if err != nil {
		return Entry{}, err
	}
	i, err := team.needKey(c.Key)
	if err != nil {
		return Entry{}, err
	}
	return d.rekey(at, "key.remove", c.Key, slices.Delete(slices.Clone(team.Keys), i, i+1)), nil
}

// rekey gives a team other keys. Its entry has those alone that change: members make many such changes.
func (d *Document) rekey(at int, what, key string, keys []Key) Entry {
	before := d.Teams[at]
	after := before
	after.Keys = keys
	d.Teams[at] = after
	return Entry{What: what, Team: before.ID, Key: key, Before: before.unlike(after), After: after.unlike(before)}
}

func (t Team) needKey(id string) (int, error) {
	i := slices.IndexFunc(t.Keys, func(k Key) bool { return k.ID == id })
	if i < 0 {
		return 0, &Error{Missing, "key", "key " + shown(id) + " is not one of team " + t.ID, "look at the team's keys"}
	}
	return i, nil
}

// writable reports whether RFC 3339 can write a moment in UTC.
func writable(at time.Time) bool { return at.Year() >= 1 && at.Year() <= 9999 }

// of is the key as the team gets it.
func (k NewKey) of(team Team) (Key, error) {
	key := Key{ID: k.Minted.ID, SHA256: k.Minted.SHA256, Note: k.Note}
	if len(team.Keys) >= maxKeys {
		return Key{}, &Error{Conflict, "keys", "team " + team.ID + " has " + strconv.Itoa(len(team.Keys)) + " keys, allowed: at most " + strconv.Itoa(maxKeys), "remove one that is not used"}
	}
	expires, days := k.Expires.UTC().Truncate(time.Second), team.keyDays(k.DefaultDays)
	last := endOf(k.Now, days)
	switch {
	case k.Expires.IsZero() && days == 0:
		return key, nil
	case k.Expires.IsZero():
		expires = last
	case !writable(expires):
		return Key{}, &Error{Invalid, "expires", "got no moment of the years 1 to 9999, allowed: one such as 2027-06-30T00:00:00Z", ""}
	case !expires.After(k.Now):
		return Key{}, &Error{Invalid, "expires", "got a moment in the past, allowed: one after " + k.Now.UTC().Format(time.RFC3339), ""}
	case days > 0 && expires.After(last):
		return Key{}, &Error{Invalid, "expires", "got " + expires.Format(time.RFC3339) + ", allowed: at most " + last.Format(time.RFC3339) +
			", because key_days of team " + team.ID + " is " + inDays(days), "choose an earlier end, or raise key_days"}
	}
	key.Expires = &expires
	return key, nil
}
