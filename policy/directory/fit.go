package directory

import (
	"encoding/json"
	"slices"
)

// MostEntry is the longest text of an entry in bytes. Older entries may be longer.
const MostEntry = 4 << 10

// cutText stands in an entry in place of a value that is too long for it: how long its JSON was, and the SHA-256 of that.
func cutText(value []byte) json.RawMessage {
	return encode(map[string]any{"cut": struct {
		Bytes  int    `json:"bytes"`
		SHA256 string `json:"sha256"`
	}{len(value), sumOf(value)}})
}

// Fitted is the entry in at most [MostEntry], for a new one, or for an old one in a list: the longest members of before and after are cut out first. Who, address and reason fit
// beside what is left of them, because an order's texts are bounded.
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

// membersOf reads an object; nil: it is none.
func membersOf(text json.RawMessage) (members map[string]json.RawMessage) {
	if json.Unmarshal(text, &members) != nil {
		return nil
	}
	return members
}

// joined writes members as an object again, or the whole if that was none.
func joined(members map[string]json.RawMessage, whole json.RawMessage) json.RawMessage {
	if members == nil {
		return whole
	}
	return encode(members)
}

// cutLongest cuts the longest member of several objects. It returns false if that would make none shorter.
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

// unlike are the members of a team that another version of it has not, or otherwise, and of its keys those alone that differ; nil:
// there are none. Keys are without their hashes.
func (t Team) unlike(other Team) json.RawMessage {
	members := map[string]json.RawMessage{}
	for name, value := range t.Members {
		if string(value) != string(other.Members[name]) {
			members[name] = value
		}
	}
	var keys []Key
	for _, k := range t.Keys {
		same := func(twin Key) bool { return string(encode(k)) == string(encode(twin)) }
		if !slices.ContainsFunc(other.Keys, same) {
			k.SHA256 = ""
			keys = append(keys, k)
		}
	}
	if keys != nil {
		members["keys"] = encode(keys)
	}
	if len(members) == 0 {
		return nil
	}
	return encode(members)
}
