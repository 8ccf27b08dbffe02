package teams

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"sluice/policy/strictyaml"
)

// maxKeys is how many keys a team of the directory may have.
const maxKeys = 100

// KeyOrder describes a key to be made.
type KeyOrder struct {
	// Expires is the first moment at which it no longer works. Nil: as late as the team's key_days allow; without key_days, never.
	Expires *time.Time `json:"expires"`
	// Note is for people, as in the teams file. If it is empty, a new key keeps that of the one it replaces.
	Note string `json:"note"`
	// Replaces is the id of a key that ends; empty: none.
	Replaces string `json:"replaces"`
	// OldEnds is when the replaced key ends, unless it ends earlier. Nil: in 24 hours.
	OldEnds *time.Time `json:"old_ends"`
	// KeyMembers are the key's own limits. If it replaces another key, they change that key's limits.
	KeyMembers
}

// NewKey is a key that was made. The key itself is shown once, to the person who ordered it, and stored nowhere.
type NewKey struct {
	ID      string     `json:"id"`
	Key     string     `json:"key"` // the whole key
	Expires *time.Time `json:"expires"`
	OldEnds time.Time  `json:"-"` // when the replaced key ends; zero: none was replaced
}

// rotateAfter is how long the old key works beside the new one by default.
const rotateAfter = 24 * time.Hour

// AddKey adds a key to a team. A key that it replaces works for a while, so that clients can switch, but never longer
// than before.
type AddKey struct {
	Team    string
	IfMatch string // as in ReplaceTeam; empty: any
	Minted  MintedKey
	Order   KeyOrder
	Now     time.Time
	// DefaultDays is key_days of the teams file's defaults; 0: none.
	DefaultDays int
}

func (c AddKey) apply(d *Document) (Entry, error) {
	at, team, err := d.need(c.Team, cmp.Or(c.IfMatch, "*"))
	if err != nil {
		return Entry{}, err
	}
	keys, what := slices.Clone(team.Keys), "key.add"
	switch {
	case c.Order.Replaces != "":
		what = "key.rotate"
		if err := c.endOld(team, keys); err != nil {
			return Entry{}, err
		}
	case c.Order.OldEnds != nil:
		return Entry{}, &Problem{Code: CodeInvalid, Field: "old_ends", Text: "no key is replaced", Allowed: "together with replaces"}
	}
	key, err := c.key(team)
	if err != nil {
		return Entry{}, err
	}
	var old Key
	if c.Order.Replaces != "" {
		old = team.Keys[team.keyAt(c.Order.Replaces)]
	}
	key.Note = cmp.Or(key.Note, old.Note)
	if key.Members, err = c.Order.over(old.Members); err != nil {
		return Entry{}, err
	}
	return d.rekey(at, what, key.ID, append(keys, key)), nil
}

// endOld sets the end of the replaced key.
func (c AddKey) endOld(team Spec, keys []Key) error {
	ends := c.Now.Add(rotateAfter)
	if c.Order.OldEnds != nil {
		ends = *c.Order.OldEnds
	}
	ends = ends.UTC().Truncate(time.Second)
	i := team.keyAt(c.Order.Replaces)
	switch {
	case !writable(ends):
		return noMoment("old_ends")
	case i < 0:
		return noKey()
	}
	if old := &keys[i]; old.Expires.IsZero() || old.Expires.After(ends) {
		old.Expires = ends
	}
	return nil
}

// writable reports whether a moment can be kept: RFC 3339 can write it in UTC, and it is not the zero time, which means never.
func writable(at time.Time) bool { return at.Year() >= 1 && at.Year() <= 9999 && !at.IsZero() }

func noMoment(field string) error {
	return notAllowed(CodeInvalid, field, "a time outside the years 1 to 9999", "one such as 2027-06-30T00:00:00Z", "")
}

// key is the key that the team gets.
func (c AddKey) key(team Spec) (Key, error) {
	key := Key{ID: c.Minted.ID, SHA256: sha256.Sum256([]byte(c.Minted.whole)), Note: c.Order.Note}
	if n := len(team.Keys); n >= maxKeys {
		given, allowed := strconv.Itoa(n)+" keys", "at most "+strconv.Itoa(maxKeys)
		return Key{}, &Problem{
			Code: CodeConflict, Field: "keys", Text: "team " + team.ID + " has " + given + ", allowed: " + allowed, Given: given, Allowed: allowed,
			Advice: "remove one that is not used",
		}
	}
	days := team.keyDays(c.DefaultDays)
	last := endOf(c.Now, days)
	if c.Order.Expires == nil {
		if days > 0 {
			key.Expires = last
		}
		return key, nil
	}
	key.Expires = c.Order.Expires.UTC().Truncate(time.Second)
	switch {
	case !writable(key.Expires):
		return Key{}, noMoment("expires")
	case !key.Expires.After(c.Now):
		return Key{}, notAllowed(CodeInvalid, "expires", "a moment in the past", "one after "+c.Now.UTC().Format(time.RFC3339), "")
	case days > 0 && key.Expires.After(last):
		return Key{}, notAllowed(CodeInvalid, "expires", key.Expires.Format(time.RFC3339), "at most "+last.Format(time.RFC3339)+
			", because key_days of team "+team.ID+" is "+inDays(days), "choose an earlier end, or raise key_days")
	}
	return key, nil
}

// RemoveKey removes a key, which no longer works afterwards.
type RemoveKey struct{ Team, Key string }

func (c RemoveKey) apply(d *Document) (Entry, error) {
	at, team, err := d.need(c.Team, "*")
	if err != nil {
		return Entry{}, err
	}
	i := team.keyAt(c.Key)
	if i < 0 {
		return Entry{}, noKey()
	}
	return d.rekey(at, "key.remove", c.Key, slices.Delete(slices.Clone(team.Keys), i, i+1)), nil
}

// ChangeKey sets some members of a key.
type ChangeKey struct {
	Team, Key, IfMatch string // IfMatch is as in ReplaceTeam
	// Members is a JSON object, a merge patch (RFC 7396) of disabled and the key's limits: what it does not name stays, at any depth, and
	// null removes.
	Members []byte
}

func (c ChangeKey) apply(d *Document) (Entry, error) {
	at, team, err := d.need(c.Team, c.IfMatch)
	if err != nil {
		return Entry{}, err
	}
	i := team.keyAt(c.Key)
	if i < 0 {
		return Entry{}, noKey()
	}
	keys := slices.Clone(team.Keys)
	if keys[i], err = keys[i].patched(c.Members); err != nil {
		return Entry{}, err
	}
	return d.rekey(at, "key.change", c.Key, keys), nil
}

// patched is the key after a merge patch of its changeable members.
func (k Key) patched(patch []byte) (Key, error) {
	var change struct {
		Disabled json.RawMessage `json:"disabled"`
		KeyMembers
	}
	if err := new(Key).readMembers(patch, true); err != nil {
		return k, err
	}
	if json.Unmarshal(patch, &change) != nil {
		return k, noJSON("body")
	}
	if change.Disabled != nil {
		k.Disabled = string(change.Disabled) == "true"
	}
	members, err := change.over(k.Members)
	if err == nil {
		k.Members, k.KeyLimits = members, KeyLimits{}
		err = k.readMembers(append(appendMembers([]byte(`{"disabled":`+strconv.FormatBool(k.Disabled)), members), '}'), false)
	}
	return k, err
}

// readMembers reads the members that [ChangeKey] may set, or a patch of them, strictly.
func (k *Key) readMembers(text []byte, patch bool) error {
	_, err := strictyaml.Parse(text, func(n strictyaml.Node) {
		n.AnyMoney, n.Patch = true, patch // the amounts are read with the whole document
		n.Fields(slices.Concat(k.changeable(), k.limits())...)
	})
	if err != nil {
		return problemOf(err)
	}
	return nil
}

// rekey replaces the keys of a team. The entry has only those that change, because members make many such changes.
func (d *Document) rekey(at int, what, key string, keys []Key) Entry {
	before := d.Teams[at]
	after := before
	after.Keys = keys
	d.Teams[at] = after
	return Entry{What: what, Team: before.ID, Key: key, Before: before.unlike(after), After: after.unlike(before)}
}

func (s Spec) keyAt(id string) int {
	return slices.IndexFunc(s.Keys, func(k Key) bool { return k.ID == id })
}

func noKey() error {
	return &Problem{Code: CodeMissing, Field: "key", Text: "the team has no such key", Advice: "look at the team's keys"}
}

// keyDays is the longest life of a new key in days; 0: any. A team without the member has the default.
func (s Spec) keyDays(defaults int) int {
	value, given := s.Members["key_days"]
	if !given {
		return defaults
	}
	var days int
	if json.Unmarshal(value, &days) != nil {
		return 0 // none
	}
	return days
}

// endOf is the end of a life of that many days from now, in whole seconds.
func endOf(now time.Time, days int) time.Time {
	return now.UTC().Truncate(time.Second).AddDate(0, 0, days)
}

func inDays(days int) string {
	if days == 1 {
		return "1 day"
	}
	return strconv.Itoa(days) + " days"
}
