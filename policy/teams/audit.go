package teams

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sluice/policy/strictyaml"
	"sluice/policy/unit"
)

// KeptDays is how long entries are kept, in days.
const KeptDays = 400

// Entry is one entry of the audit. It contains no secret and no hash of a key. Its text has at most [MostEntry] bytes: values
// that are too long are cut and marked as cut. The chain is made of the texts: each entry has the SHA-256 of the text before it.
type Entry struct {
	Seq     int64           `json:"seq"` // 1 for the first
	Time    time.Time       `json:"time"`
	Who     string          `json:"who"`               // who ordered it, such as "command:alice"
	Address string          `json:"address,omitempty"` // where from
	What    string          `json:"what"`              // such as "team.change"
	Team    string          `json:"team,omitempty"`
	Key     string          `json:"key,omitempty"`    // the key's public part
	Reason  string          `json:"reason,omitempty"` // as it was given
	Before  json.RawMessage `json:"before,omitempty"` // what changed, as it was; nil: it did not exist
	After   json.RawMessage `json:"after,omitempty"`  // as it is; nil: it no longer exists
	Version int64           `json:"version"`          // of the directory afterwards
	Digest  string          `json:"digest"`           // SHA-256 of the directory's text afterwards; empty: none
	Raises  string          `json:"raises,omitempty"` // SHA-256 of the text of the raises afterwards; empty: the entry does not change them
	Prev    string          `json:"prev"`             // SHA-256 of the previous entry's text; empty for the first
}

// Order records who orders a change, from where and when.
type Order struct {
	Who, Address string // one line each, of at most MaxProse characters
	Reason       string // may be empty
	Now          time.Time
	Money        unit.Money // in which the amounts of a change count: the teams file's
	// Most bounds the bytes of the entries about the changed team on this day in UTC, including those of others' orders. 0: no
	// bound.
	Most int64
}

// ReadEntry reads the text of an entry.
func ReadEntry(text []byte) (e Entry, err error) {
	if err := json.Unmarshal(text, &e); err != nil {
		return Entry{}, fmt.Errorf("an entry of the audit cannot be read: %w", err)
	}
	return e, nil
}

// Text is the entry as JSON, in one line.
func (e Entry) Text() []byte { return strictyaml.Encode(e) }

// check refuses an order that must not be kept.
func (o Order) check() error {
	for field, text := range map[string]string{"who": o.Who, "address": o.Address, "reason": o.Reason} {
		if !IsProse(text) || strictyaml.HasPlainKey([]byte(text)) {
			allowed := fmt.Sprintf("one line of at most %d characters, without keys", MaxProse)
			return &Problem{Code: CodeInvalid, Field: field, Text: "allowed: " + allowed, Allowed: allowed}
		}
	}
	if o.Who == "" {
		return &Problem{Code: CodeInvalid, Field: "who", Text: "is missing"}
	}
	return nil
}

// MostEntry is the longest text of an entry in bytes. Older entries may be longer.
const MostEntry = 4 << 10

// cutText replaces a value that is too long for an entry by the length and the SHA-256 of its JSON.
func cutText(value []byte) json.RawMessage {
	return strictyaml.Encode(map[string]any{"cut": struct {
		Bytes  int    `json:"bytes"`
		SHA256 string `json:"sha256"`
	}{len(value), hexOf(value)}})
}

// Fitted is the entry, new or from a list, in at most [MostEntry] bytes: the longest members of before and after are
// cut first. Who, address and reason always fit beside the rest, because an order's texts are bounded.
func (e Entry) Fitted() Entry {
	if len(e.Text()) <= MostEntry {
		return e
	}
	before, after := membersOf(e.Before), membersOf(e.After)
	whole := [2]json.RawMessage{e.Before, e.After}
	for cutLongest(before, after) {
		e.Before, e.After = joined(before, whole[0]), joined(after, whole[1])
		if len(e.Text()) <= MostEntry {
			return e
		}
	}
	for i, value := range []*json.RawMessage{&e.Before, &e.After} {
		if whole[i] != nil {
			*value = cutText(whole[i])
		}
	}
	return e
}

// membersOf reads an object; nil: the text is not an object.
func membersOf(text json.RawMessage) (members map[string]json.RawMessage) {
	if json.Unmarshal(text, &members) != nil {
		return nil
	}
	return members
}

// joined writes members as an object again, or returns the whole if it was not an object.
func joined(members map[string]json.RawMessage, whole json.RawMessage) json.RawMessage {
	if members == nil {
		return whole
	}
	return strictyaml.Encode(members)
}

// cutLongest cuts the longest member of several objects. It returns false if a cut would make none of them shorter.
func cutLongest(objects ...map[string]json.RawMessage) bool {
	var in map[string]json.RawMessage
	longest, length := "", 0
	for _, members := range objects {
		for name, value := range members {
			if len(value) > length || len(value) == length && name < longest {
				in, longest, length = members, name, len(value)
			}
		}
	}
	short := cutText(in[longest])
	if len(short) >= length {
		return false
	}
	in[longest] = short
	return true
}

// unlike returns the members of a team that another version of it lacks or has with other values, and only the keys
// that differ, as in [Spec.Shown]; nil: no difference.
func (s Spec) unlike(other Spec) json.RawMessage {
	members, twins := map[string]json.RawMessage{}, other.Shown().Members
	for name, value := range s.Shown().Members {
		if string(value) != string(twins[name]) {
			members[name] = value
		}
	}
	var keys []Key
	for _, k := range s.Keys {
		same := func(twin Key) bool { return string(strictyaml.Encode(k)) == string(strictyaml.Encode(twin)) }
		if !slices.ContainsFunc(other.Keys, same) {
			k.SHA256 = Digest{}
			keys = append(keys, k)
		}
	}
	if keys != nil {
		members["keys"] = strictyaml.Encode(keys)
	}
	if len(members) == 0 {
		return nil
	}
	return strictyaml.Encode(members)
}
