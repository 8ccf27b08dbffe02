package directory

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sluice/policy/teams"
)

// Document is the directory at one version. Its teams are ordered by id. What it points to MUST NOT be changed.
type Document struct {
	Version int64 // grows by one with every change; 0: no directory was ever written
	Teams   []Team
}

// Team is one team as the document has it, without the defaults.
type Team struct {
	ID   string
	Keys []Key // in the order in which they were made
	// Members are the team's other members as in the teams file, by name, as JSON in the form of [Document.Text].
	Members map[string]json.RawMessage
}

// Key is one key of a team. The key itself is nowhere.
type Key struct {
	ID       string     `json:"id"`               // the public part
	SHA256   string     `json:"sha256,omitempty"` // of the whole key, in hexadecimal; left out of entries
	Expires  *time.Time `json:"expires,omitempty"`
	Disabled bool       `json:"disabled,omitempty"`
	Note     string     `json:"note,omitempty"` // for people
}

// Read reads a document, in JSON or YAML, with the strict reader of the teams file. Its error is of type [teams.Faults].
func Read(text []byte) (Document, error) {
	asJSON, err := teams.ReadDirectory(text)
	if err != nil {
		return Document{}, err
	}
	var raw struct {
		Version int64                        `json:"version"`
		Teams   []map[string]json.RawMessage `json:"teams"`
	}
	if err := json.Unmarshal(asJSON, &raw); err != nil {
		return Document{}, teams.Faults{{Text: "not a directory: " + err.Error()}}
	}
	d := Document{Version: raw.Version}
	for _, members := range raw.Teams {
		team, err := readTeam(members)
		if err != nil {
			return Document{}, teams.Faults{{Text: "not a directory: " + err.Error()}}
		}
		d.Teams = append(d.Teams, team)
	}
	slices.SortFunc(d.Teams, func(a, b Team) int { return cmp.Compare(a.ID, b.ID) })
	return d, nil
}

// ReadTeam reads a team from the JSON that [teams.File.Text] returns, or that a client gave. It does not judge the members: a
// change does.
func ReadTeam(text []byte) (Team, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return Team{}, &Error{Kind: Invalid, Text: "not a JSON object"}
	}
	return readTeam(members)
}

// readTeam takes id and keys out of a team's members.
func readTeam(members map[string]json.RawMessage) (Team, error) {
	team := Team{Members: map[string]json.RawMessage{}}
	for name, value := range members {
		var err error
		switch {
		case name == "id":
			team.ID, err = word(value)
		case name == "keys":
			team.Keys, err = readKeys(value)
		case string(value) != "null": // no value is the same as no member
			team.Members[name], err = normal(value)
		}
		if err != nil {
			return Team{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return team, nil
}

// word reads a text that may be written like a number, as YAML allows.
func word(value json.RawMessage) (text string, err error) {
	if value[0] != '"' {
		return string(value), nil
	}
	err = json.Unmarshal(value, &text)
	return text, err
}

func readKeys(value json.RawMessage) (keys []Key, err error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil {
		return nil, err
	}
	for _, members := range list {
		var k Key
		for name, to := range map[string]*string{"id": &k.ID, "sha256": &k.SHA256, "note": &k.Note} {
			if value, given := members[name]; given && err == nil {
				*to, err = word(value)
			}
		}
		if err != nil {
			return nil, err
		}
		k.Disabled = string(members["disabled"]) == "true"
		if value, given := members["expires"]; given {
			var at time.Time
			if err := json.Unmarshal(value, &at); err != nil {
				return nil, err
			}
			at = at.UTC()
			k.Expires = &at
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// normal writes a value in one form: without blanks, members by name, numbers as they are.
func normal(value json.RawMessage) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, err
	}
	return encode(tree), nil
}

// encode writes a value as JSON, with < and > as they are. The values of this package can always be written.
func encode(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic("directory: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// MarshalJSON writes id, keys and then the other members by name.
func (t Team) MarshalJSON() ([]byte, error) {
	out := append([]byte(`{"id":`), encode(t.ID)...)
	if len(t.Keys) > 0 {
		out = append(append(out, `,"keys":`...), encode(t.Keys)...)
	}
	names := make([]string, 0, len(t.Members))
	for name := range t.Members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		out = append(append(append(append(out, ','), encode(name)...), ':'), t.Members[name]...)
	}
	return append(out, '}'), nil
}

// Text is the document as JSON, one line for each team. Equal documents have equal texts, and [Read] reads it again.
func (d Document) Text() []byte {
	out := fmt.Appendf(nil, "{\"version\":%d,\n\"teams\":[", d.Version)
	for i, team := range d.Teams {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, '\n'), encode(team)...)
	}
	return append(out, "\n]}\n"...)
}

// Team returns the team with this id; ok is false if the directory has none.
func (d Document) Team(id string) (team Team, ok bool) {
	i, ok := d.find(id)
	if !ok {
		return Team{}, false
	}
	return d.Teams[i], true
}

func (d Document) find(id string) (int, bool) {
	return slices.BinarySearchFunc(d.Teams, id, func(t Team, id string) int { return cmp.Compare(t.ID, id) })
}

// sumOf is the SHA-256 of a text in hexadecimal.
func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
