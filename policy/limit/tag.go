package limit

import "strings"

// Tag says for whom inside its team a hold is: by the value of the team's tag_key, and whether quotas of each value counted it when it
// was made. The zero Tag is no value. A Tag that was counted may have the empty value: that of requests without the tag.
type Tag string

// countedTag begins a Tag that was counted. No value has it.
const countedTag = "@"

// tagValues is how many values of a tag a day keeps apart, because clients can invent them. [Other] is that of the rest.
const tagValues = 1000

// Other is the model of what is used once a day has a thousand rows, and the tag of what is used once it has a thousand tags.
const Other = "other"

// TagOf returns the Tag of a value. counted says that the team has quotas of each value.
func TagOf(value string, counted bool) Tag {
	if counted {
		return Tag(countedTag + value)
	}
	return Tag(value)
}

// Counted reports whether quotas of each value counted the hold.
func (t Tag) Counted() bool { return strings.HasPrefix(string(t), countedTag) }

// Value is the value; empty: there is none.
func (t Tag) Value() string { return strings.TrimPrefix(string(t), countedTag) }
