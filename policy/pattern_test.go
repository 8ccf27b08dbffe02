package policy_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sluice/policy"
)

func TestPattern(t *testing.T) {
	for _, tt := range []struct {
		pattern policy.Pattern
		name    string
		want    bool
	}{
		{"llm-max", "llm-max", true},
		{"llm-max", "llm-max2", false},
		{"llm-max", "LLM-MAX", false},
		{"llm-*", "llm-", true},
		{"llm-*", "llm-image-2.0-pro", true},
		{"llm-*", "xllm-max", false},
		{"*", "", true},
		{"", "", true},
		{"", "a", false},
		{"*-image", "gen2.6-image", true},
		{"*-image", "gen2.6-image-x", false},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-b-b-d", false},
		{"a**", "a", true},
		{"gen?", "genx", false},
		{"a*aaab", "aaaaaaaaaaaaaaaaaaaaaab", true},
	} {
		if got := tt.pattern.Match(tt.name); got != tt.want {
			t.Errorf("%q matches %q: %v, want %v", tt.pattern, tt.name, got, tt.want)
		}
	}
}

func TestMatchAnyOfNone(t *testing.T) {
	if policy.MatchAny(nil, "llm-max") {
		t.Error("an empty list of patterns matched")
	}
}

// TestPatternProperty compares Match with the recursive definition of a star.
func TestPatternProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune("ab*")), 0, 8, -1).Draw(t, "pattern")
		name := rapid.StringOfN(rapid.RuneFrom([]rune("ab")), 0, 10, -1).Draw(t, "name")
		if got, want := policy.Pattern(pattern).Match(name), matches(pattern, name); got != want {
			t.Fatalf("%q matches %q: %v, want %v", pattern, name, got, want)
		}
	})
}

func matches(pattern, name string) bool {
	switch {
	case pattern == "":
		return name == ""
	case pattern[0] == '*':
		return matches(pattern[1:], name) || name != "" && matches(pattern, name[1:])
	default:
		return name != "" && name[0] == pattern[0] && matches(pattern[1:], name[1:])
	}
}

// Patterns meet if some name of a few letters matches both.
func TestPatternsMeet(t *testing.T) {
	patterns := wordsOf("ab*", 4)
	names := wordsOf("ab", 7)
	for _, p := range patterns {
		for _, q := range patterns {
			meet := slices.ContainsFunc(names, func(name string) bool { return policy.Pattern(p).Match(name) && policy.Pattern(q).Match(name) })
			if got := policy.Pattern(p).Meets(policy.Pattern(q)); got != meet {
				t.Fatalf("%q meets %q: %v, want %v", p, q, got, meet)
			}
		}
	}
}

// wordsOf are all words of at most so many of these letters.
func wordsOf(letters string, most int) []string {
	words := []string{""}
	for from := 0; most > 0; most-- {
		end := len(words)
		for ; from < end; from++ {
			for _, letter := range letters {
				words = append(words, words[from]+string(letter))
			}
		}
	}
	return words
}
