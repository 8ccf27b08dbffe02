package policy

import (
	"slices"
	"strings"
)

// Pattern matches model names. * stands for any run of characters, also an empty one; other characters stand for
// themselves. Names are compared decoded and with their case, as the service does.
type Pattern string

// Match reports whether the pattern matches name, in time of at most len(p)·len(name) and without allocating.
func (p Pattern) Match(name string) bool {
	pattern := string(p)
	star, retry := -1, 0
	i, j := 0, 0
	for j < len(name) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, retry = i, j
			i++
		case i < len(pattern) && pattern[i] == name[j]:
			i++
			j++
		case star >= 0:
			retry++
			i, j = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}

// MatchAny reports whether one of the patterns matches name.
func MatchAny(patterns []Pattern, name string) bool {
	return slices.ContainsFunc(patterns, func(p Pattern) bool { return p.Match(name) })
}
