package rules

import "testing"

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		patterns []string
		model    string
		want     bool
	}{
		{nil, "llm-plus", false},
		{[]string{"llm-*"}, "llm-plus", true},
		{[]string{"llm-*"}, "gen2.6-image", false},
		{[]string{"gen*", "llm-*"}, "llm-plus", true},
		{[]string{"llm-image*"}, "llm-image", true},
		{[]string{"llm-image*"}, "llm-image-2.0-pro-2026-06-22", true},
		{[]string{"llm-image*"}, "llm-imag", false},
		{[]string{"llm-*"}, "llm-team/own", true},
		{[]string{"*"}, "", true},
		{[]string{"llm-["}, "llm-[", false},
	} {
		if got := Matches(tt.patterns, tt.model); got != tt.want {
			t.Errorf("Matches(%q, %q) = %v, want %v", tt.patterns, tt.model, got, tt.want)
		}
	}
}
