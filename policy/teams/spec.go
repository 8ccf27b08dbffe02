package teams

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"sluice/policy/event"
	"sluice/policy/strictyaml"
)

// Spec is a team as its owner wrote it, without the defaults: in the teams file, in the directory, in the console's API and on
// its pages. [Team] is its meaning.
type Spec struct {
	ID    string
	Owner Owner // where it is written
	Keys  []Key // in the order in which they were made
	// Members are the team's other members as in the teams file, by name, as JSON in the form of [Document.Text].
	Members map[string]json.RawMessage
	// Used has the hours in which keys were last used, by their ids, for display; nil: unknown here.
	Used map[string]time.Time
}

// specOf is a team that the strict reader accepted.
func specOf(n strictyaml.Node, team *Team) Spec {
	s := Spec{ID: team.ID, Owner: team.Owner, Keys: team.Keys, Members: map[string]json.RawMessage{}}
	n.Pairs("", func(name string, _, value strictyaml.Node) {
		if name != "id" && name != "keys" && !value.IsNull() { // null equals no member
			s.Members[name] = value.JSON()
		}
		if name == "keys" {
			at := 0
			value.Items("", func(item strictyaml.Node) { s.Keys[at].Members, at = keyMembersOf(item), at+1 })
		}
	})
	return s
}

// MarshalJSON writes id, keys and then the other members by name, as in a document.
func (s Spec) MarshalJSON() ([]byte, error) {
	out := append([]byte(`{"id":`), strictyaml.Encode(s.ID)...)
	if len(s.Keys) > 0 {
		out = append(append(out, `,"keys":`...), strictyaml.Encode(s.Keys)...)
	}
	return append(s.AppendMembers(out), '}'), nil
}

// AppendMembers appends the members but id and keys to an object that is being written, by name.
func (s Spec) AppendMembers(object []byte) []byte {
	return appendMembers(object, s.Members)
}

// appendMembers appends members to an object that is being written, by name.
func appendMembers(object []byte, members map[string]json.RawMessage) []byte {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		object = append(append(append(append(object, ','), strictyaml.Encode(name)...), ':'), members[name]...)
	}
	return object
}

// Shown is a team without secrets, for entries and for those who may not change it: without the hashes of keys and the URLs of hooks.
func (s Spec) Shown() Spec {
	s.Keys, s.Members = slices.Clone(s.Keys), maps.Clone(s.Members)
	for i := range s.Keys {
		s.Keys[i].SHA256 = Digest{}
	}
	if hooks := s.Members["hooks"]; hooks != nil {
		s.Members["hooks"] = event.Blank(hooks)
	}
	return s
}

// Flag reports whether a member is true.
func (s Spec) Flag(name string) bool { return string(s.Members[name]) == "true" }

// wordOf reads a text, which YAML allows to be written like a number.
func wordOf(value json.RawMessage) (text string, err error) {
	if len(value) > 0 && value[0] != '"' {
		return string(value), nil
	}
	err = json.Unmarshal(value, &text)
	return text, err
}

// Word is a member that is a text; empty if it is not a text.
func (s Spec) Word(name string) string {
	value := s.Members[name]
	if value == nil || strings.ContainsRune(`[{`, rune(value[0])) {
		return ""
	}
	text, _ := wordOf(value) // which the strict reader accepted
	return text
}

// Words is a member that is a list of texts; nil if it is not such a list.
func (s Spec) Words(name string) (all []string) {
	var list []json.RawMessage
	_ = json.Unmarshal(s.Members[name], &list) // otherwise the list stays empty
	for _, value := range list {
		if text, err := wordOf(value); err == nil {
			all = append(all, text)
		}
	}
	return all
}

// ETag is a strong tag of all that the team's owner wrote, quoted as in HTTP.
func (s Spec) ETag() string {
	sum := sha256.Sum256(append([]byte("etag "), strictyaml.Encode(s)...))
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
