package policy

import "strings"

// Pattern matches model names: letter for letter, where * stands for any run of characters, the empty one too. It is
// compared with the decoded string, case and all, because the service does so.
type Pattern string

// Match reports whether name fits the pattern. Its time grows with len(p)·len(name) at worst and it does not allocate,
// so a hostile model name costs no more than its bytes.
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

// MatchAny reports whether any of the patterns fits; none fit an empty list.
func MatchAny(patterns []Pattern, name string) bool {
	for _, p := range patterns {
		if p.Match(name) {
			return true
		}
	}
	return false
}
