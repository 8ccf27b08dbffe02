package policy

import (
	"fmt"
	"strings"
)

// Bounds of tags.
const (
	MaxTags = 4  // pairs
	maxTag  = 64 // bytes of a pair
)

// Tags identify for whom inside its team a request is, such as project=alpha,user=42. They are as [ParseTags] returns them.
type Tags string

// ParseTags reads the values of a header with tags: pairs of a name and a value, each of a–z, 0–9, dot, underscore and hyphen, at
// most [MaxTags] of 64 bytes, without a name twice. Blanks around a pair are dropped. The error names the pair and what is wrong
// with it.
func ParseTags(values []string) (Tags, error) {
	if len(values) == 0 {
		return "", nil
	}
	pairs := strings.Split(strings.Join(values, ","), ",")
	for i, pair := range pairs {
		pairs[i] = strings.Trim(pair, " \t")
	}
	if len(pairs) > MaxTags {
		return "", fmt.Errorf("got %d pairs, allowed: at most %d", len(pairs), MaxTags)
	}
	for i, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if len(pair) > maxTag || !isTagWord(name) || !isTagWord(value) {
			return "", fmt.Errorf("pair %d is not valid, allowed: name=value of at most %d bytes, each of a–z, 0–9, dot, underscore and hyphen",
				i+1, maxTag)
		}
		for _, before := range pairs[:i] {
			if strings.HasPrefix(before, name+"=") {
				return "", fmt.Errorf("the name %s appears twice, allowed: each once", name)
			}
		}
	}
	return Tags(strings.Join(pairs, ",")), nil
}

// isTagWord reports whether a text may be a name or a value.
func isTagWord(text string) bool {
	strange := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-'
	}
	return text != "" && !strings.ContainsFunc(text, strange)
}

// Value returns the value of a name, or empty if there is no such tag.
func (t Tags) Value(name string) string {
	for pair := range strings.SplitSeq(string(t), ",") {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// IsTagName reports whether a text may be the name of a tag.
func IsTagName(text string) bool { return isTagWord(text) && len(text) <= maxTag-2 }
