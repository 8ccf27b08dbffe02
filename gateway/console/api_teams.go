package console

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"sluice/policy/teams"
)

// Key is a key in an answer: without its hash.
type Key struct {
	ID               string      `json:"id"` // the public part
	Expires          *time.Time  `json:"expires"`
	Note             string      `json:"note"`
	LastUsed         *time.Time  `json:"last_used"` // to the hour; nil: never, or too long ago to be kept
	Owner            teams.Owner `json:"owner"`
	Disabled         bool        `json:"disabled,omitempty"`
	teams.KeyMembers             // its limits, as its owner wrote them
}

// keysOf returns a team's keys for an answer.
func keysOf(t *teams.Spec) []Key {
	keys := []Key{}
	for i := range t.Keys {
		k := &t.Keys[i]
		keys = append(keys, Key{k.ID, orNil(k.Expires), k.Note, orNil(t.Used[k.ID]), t.Owner, k.Disabled, k.Written()})
	}
	return keys
}

// written is a team in an answer: id, owner and keys, then the other members by name.
type written teams.Spec

// MarshalJSON implements [json.Marshaler].
func (t written) MarshalJSON() ([]byte, error) {
	team := teams.Spec(t)
	head, err := json.Marshal(struct {
		ID    string      `json:"id"`
		Owner teams.Owner `json:"owner"`
		Keys  []Key       `json:"keys"`
	}{t.ID, t.Owner, keysOf(&team)})
	if err != nil {
		return nil, err
	}
	return append(team.AppendMembers(head[:len(head)-1]), '}'), nil
}

// spec reads a team from a body in the form of answers.
func (c *call) spec() (team teams.Spec, err error) {
	text, err := c.body()
	if err != nil {
		return team, err
	}
	if json.Unmarshal(text, &team.Members) != nil {
		return team, errBody
	}
	var keys []Key
	for name, value := range map[string]any{"id": &team.ID, "owner": &team.Owner, "keys": &keys} {
		if given, ok := team.Members[name]; ok {
			if decode(given, value) != nil {
				return team, invalid(name, "not of the form that a team's answer has", "")
			}
			delete(team.Members, name)
		}
	}
	if team.Owner != "" && team.Owner != teams.OwnerDirectory {
		return team, &teams.Problem{
			Code: teams.CodeConflict, Field: "owner", Text: "only teams of the directory are changed here", Allowed: "directory",
		}
	}
	if keys != nil {
		team.Keys = []teams.Key{}
	}
	for _, k := range keys {
		key := teams.Key{ID: k.ID, Disabled: k.Disabled, Note: k.Note, Members: k.ByName()}
		if k.Expires != nil {
			key.Expires = *k.Expires
		}
		team.Keys = append(team.Keys, key)
	}
	return team, nil
}

func (a *api) teams(c *call) error {
	after, most, err := c.page()
	if err != nil {
		return err
	}
	found, more, err := a.Registry.Page(c.r.Context(), c.who, after, most)
	if err != nil {
		return err
	}
	next := ""
	if more {
		next = found[len(found)-1].ID
	}
	all := make([]written, len(found))
	for i := range found {
		all[i] = c.shown(found[i])
	}
	return c.write(http.StatusOK, list(all, next))
}

func (a *api) team(c *call) error {
	t, err := a.Registry.Show(c.r.Context(), c.who, c.parts["id"])
	return c.show(http.StatusOK, t, err)
}

// shown returns a team as the person may see it: only those who may change it see addresses of hooks, which may be secrets.
func (c *call) shown(t teams.Spec) written {
	if c.who.Changes() {
		return written(t)
	}
	return written(t.Shown())
}

// show answers with a team and its ETag.
func (c *call) show(status int, t teams.Spec, err error) error {
	if err != nil {
		return err
	}
	c.w.Header().Set("ETag", t.ETag())
	return c.write(status, c.shown(t))
}

func (a *api) createTeam(c *call) error {
	team, err := c.spec()
	if err != nil {
		return err
	}
	t, err := a.Registry.Create(c.r.Context(), c.actor(), team)
	if err == nil {
		c.w.Header().Set("Location", Prefix+"/teams/"+t.ID)
	}
	return c.show(http.StatusCreated, t, err)
}

func (a *api) replaceTeam(c *call) error {
	id, ifMatch := c.parts["id"], c.r.Header.Get("If-Match")
	if _, err := a.Registry.Show(c.r.Context(), c.who, id); err != nil { // first, so that another's team never seems to exist
		return err
	}
	team, err := c.spec()
	switch {
	case err != nil:
		return err
	case team.ID != "" && team.ID != id:
		return &teams.Problem{
			Code: teams.CodeInvalid, Field: "id", Text: "not the team of the path", Allowed: "the path's, or no such member",
			Advice: "to rename a team, make another one",
		}
	case ifMatch == "":
		return errNoMatch
	}
	team.ID = id
	t, err := a.Registry.Replace(c.r.Context(), c.actor(), team, ifMatch)
	return c.show(http.StatusOK, t, err)
}

// deleteTeam disables a team, which is removed later, and answers 202 with the team.
func (a *api) deleteTeam(c *call) error {
	t, err := a.Registry.Delete(c.r.Context(), c.actor(), c.parts["id"], cmp.Or(c.r.Header.Get("If-Match"), "*"))
	return c.show(http.StatusAccepted, t, err)
}

func (a *api) keys(c *call) error {
	t, err := a.Registry.Show(c.r.Context(), c.who, c.parts["id"])
	if err != nil {
		return err
	}
	return c.write(http.StatusOK, list(keysOf(&t), ""))
}

func (a *api) mintKey(c *call) error {
	id := c.parts["id"]
	if _, err := a.Registry.Show(c.r.Context(), c.who, id); err != nil { // as in replaceTeam
		return err
	}
	var order teams.KeyOrder
	if err := c.into(&order); err != nil {
		return err
	}
	made, err := a.Registry.Mint(c.r.Context(), c.actor(), id, "*", order)
	if err != nil {
		return err
	}
	return c.write(http.StatusCreated, made)
}

func (a *api) endKey(c *call) error {
	return c.done(a.Registry.EndKey(c.r.Context(), c.actor(), c.parts["id"], c.parts["key"]))
}

// changeKey answers with the key and its team's ETag.
func (a *api) changeKey(c *call) error {
	id, key := c.parts["id"], c.parts["key"]
	if _, err := a.Registry.Show(c.r.Context(), c.who, id); err != nil { // as in replaceTeam
		return err
	}
	members, err := c.body()
	if err != nil {
		return err
	}
	t, err := a.Registry.ChangeKey(c.r.Context(), c.actor(), id, key, members, cmp.Or(c.r.Header.Get("If-Match"), "*"))
	if err != nil {
		return err
	}
	c.w.Header().Set("ETag", t.ETag())
	keys := keysOf(&t)
	return c.write(http.StatusOK, keys[slices.IndexFunc(keys, func(k Key) bool { return k.ID == key })])
}
