package price_test

import (
	"strings"
	"testing"

	"sluice/policy/price"
)

// A pattern without a price today is named once, with the first day that has one.
func TestPricesThatHaveNotBegun(t *testing.T) {
	for _, tt := range []struct {
		about string
		list  price.List
		want  string
	}{
		{"none", nil, ""},
		{"begun", price.List{{Pattern: "*", From: 20261121}}, ""},
		{"a newer one", price.List{{Pattern: "*", From: 20261201}, {Pattern: "*"}}, ""},
		{"one that another covers", price.List{{Pattern: "llm-*", From: 20261201}, {Pattern: "*", From: 20260101}}, ""},
		{"not begun", price.List{{Pattern: "*", From: 20261122}}, "* until 2026-11-22"},
		{"the earliest day", price.List{{Pattern: "m", From: 20270101}, {Pattern: "m", From: 20261201}, {Pattern: "gen*"}}, "m until 2026-12-01"},
		{"the day of a wider one", price.List{{Pattern: "llm-max", From: 20990101}, {Pattern: "llm-*", From: 20261201}},
			"llm-max until 2026-12-01, llm-* until 2026-12-01"},
	} {
		var got []string
		for _, text := range tt.list.Awaited(20261121) {
			about, _, _ := strings.Cut(strings.TrimPrefix(text, "prices: "), ":")
			got = append(got, strings.Replace(about, " has no price", "", 1))
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%s: %s, want %s", tt.about, text, tt.want)
		}
	}
}
