package policy_test

import (
	"testing"

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
