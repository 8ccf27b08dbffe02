package teams

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Spec is a team as its owner wrote it, without the defaults: in the teams file, in the directory, in the console's API and on its
// pages. [Team] is what it means.
type Spec struct {
	ID    string
	Owner Owner // where it is written
	Keys  []Key // in the order in which they were made
	// Members are the team's other members as in the teams file, by name, as JSON in the form of [Document.Text].
	Members map[string]json.RawMessage
	// Used has the hours in which keys were last used, by their ids, for those who look at the team; nil: not known here.
	Used map[string]time.Time
}

// Spec returns a team as the teams file has it; ok is false if it does not.
func (f *File) Spec(id string) (team Spec, ok bool) {
	text := f.Text(id)
	if text == nil {
		return team, false
	}
	var members map[string]json.RawMessage
	err := json.Unmarshal(text, &members)
	if err == nil {
		team, err = readSpec(members, OwnerFile)
	}
	return team, err == nil // the file was read, so its text can be
}

// readSpec takes id and keys out of a team's members.
func readSpec(members map[string]json.RawMessage, owner Owner) (Spec, error) {
	team := Spec{Owner: owner, Members: map[string]json.RawMessage{}}
	for name, value := range members {
		var err error
		switch {
		case name == "id":
			team.ID, err = wordOf(value)
		case name == "keys":
			err = json.Unmarshal(value, &team.Keys)
		case string(value) != "null": // no value is the same as no member
			team.Members[name], err = normal(value)
		}
		if err != nil {
			return Spec{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return team, nil
}

// wordOf reads a text that may be written like a number, as YAML allows.
func wordOf(value json.RawMessage) (text string, err error) {
	if len(value) > 0 && value[0] != '"' {
		return string(value), nil
	}
	err = json.Unmarshal(value, &text)
	return text, err
}

// keyJSON is a key in a document.
type keyJSON struct {
	ID       json.RawMessage `json:"id"`
	SHA256   json.RawMessage `json:"sha256,omitempty"` // in hexadecimal; left out of entries
	Expires  time.Time       `json:"expires,omitzero"`
	Disabled bool            `json:"disabled,omitempty"`
	Note     json.RawMessage `json:"note,omitempty"`
}

// UnmarshalJSON reads a key that the strict reader took.
func (k *Key) UnmarshalJSON(text []byte) error {
	var raw keyJSON
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	*k = Key{Expires: raw.Expires.UTC(), Disabled: raw.Disabled}
	var sum string
	for to, value := range map[*string]json.RawMessage{&k.ID: raw.ID, &k.Note: raw.Note, &sum: raw.SHA256} {
		if value != nil {
			var err error
			if *to, err = wordOf(value); err != nil {
				return err
			}
		}
	}
	bytes, err := hex.DecodeString(sum)
	copy(k.SHA256[:], bytes)
	return err
}

// MarshalJSON writes a key, without its digest if that is zero.
func (k Key) MarshalJSON() ([]byte, error) {
	raw := keyJSON{ID: encode(k.ID), Expires: k.Expires, Disabled: k.Disabled}
	if k.SHA256 != (digest{}) {
		raw.SHA256 = encode(hex.EncodeToString(k.SHA256[:]))
	}
	if k.Note != "" {
		raw.Note = encode(k.Note)
	}
	return encode(raw), nil
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

// encode writes a value as JSON, with < and > as they are. The values of a document can always be written.
func encode(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic("teams: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// MarshalJSON writes id, keys and then the other members by name, as they stand in a document.
func (s Spec) MarshalJSON() ([]byte, error) {
	out := append([]byte(`{"id":`), encode(s.ID)...)
	if len(s.Keys) > 0 {
		out = append(append(out, `,"keys":`...), encode(s.Keys)...)
	}
	return append(s.AppendMembers(out), '}'), nil
}

// AppendMembers appends the members but id and keys to an object that is being written, by name.
func (s Spec) AppendMembers(object []byte) []byte {
	for _, name := range slices.Sorted(maps.Keys(s.Members)) {
		object = append(append(append(append(object, ','), encode(name)...), ':'), s.Members[name]...)
	}
	return object
}

// Flag reports whether a member is true.
func (s Spec) Flag(name string) bool { return string(s.Members[name]) == "true" }

// Word is a member that is a text; empty if it is none.
func (s Spec) Word(name string) string {
	value := s.Members[name]
	if value == nil || strings.ContainsRune(`[{`, rune(value[0])) {
		return ""
	}
	text, _ := wordOf(value) // which the strict reader took
	return text
}

// Words is a member that is a list of texts; nil if it is none.
func (s Spec) Words(name string) (all []string) {
	var list []json.RawMessage
	_ = json.Unmarshal(s.Members[name], &list) // else there is no list
	for _, value := range list {
		if text, err := wordOf(value); err == nil {
			all = append(all, text)
		}
	}
	return all
}

// ETag is a strong tag of all that the team's owner wrote, quoted as in HTTP.
func (s Spec) ETag() string {
	sum := sha256.Sum256(append([]byte("etag "), encode(s)...))
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}

// entityTag is one ETag at the beginning of a list.
var entityTag = regexp.MustCompile(`^(W/)?"[^"]*"`)

// matches reports whether a team has one of the ETags of an If-Match. Weak ETags never match.
func (s Spec) matches(ifMatch string) bool {
	if strings.TrimSpace(ifMatch) == "*" {
		return true
	}
	tag := s.ETag()
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
