package teams_test

import (
	"strings"
	"testing"
)

// TestTeamsWarnedOf warns of each case once, and not of a correct one beside it.
func TestTeamsWarnedOf(t *testing.T) {
	const (
		keyed  = "keys: [{id: 7f3k9q2m4x1c, sha256: " + aDigest + "}]"
		spend  = ", quotas: {spend: {day: 1}}"
		priced = ", currency: CNY, prices: [{model: \"*\", image: 1}]}"
	)
	search := func(members string) string { return "{teams: [{id: search, " + keyed + members + "}]" }
	for _, tt := range []struct{ doc, want string }{
		{"{teams: []}", "no teams"},
		{search("") + "}", ""},
		{"{teams: [{id: search}]}", "search has no key"},
		{"{teams: [{id: search, disabled: true}]}", ""},
		{search(", endpoints: [image]") + "}", "can create image tasks but not poll them"},
		{search(", endpoints: [image, tasks]") + "}", ""},
		{search(", endpoints: [text]") + "}", ""},
		{search(", rates: {images: {per: 1m, limit: 3}}") + "}", "can never create an image task without n"},
		{search(", rates: {images: {per: 1m, limit: 4}}") + "}", ""},
		{search(", rates: {images: {per: 1m, limit: 4, burst: 3}}") + "}", "images rate holds 3"},
		{search(", rates: {images: {per: 1m, limit: 3}}, endpoints: [text]") + "}", ""},
		{search(spend) + priced, ""},
		{search(", models: [llm-max]"+spend) + priced, ""},
		{search(spend) + ", currency: CNY}", `no price for * | no single price covers "*"`},
		{search(spend) + "}", "no price for * | no currency | no single price covers"},
		{search(spend) + ", prices: [{model: \"*\", image: 1}]}", "no currency"},
		{search("") + ", prices: [{model: \"*\", image: 1}]}", "no currency"},
		{search("") + ", currency: CNY, prices: [{model: \"llm-*\", image: 1}]}", "no price for *"},
		{search("") + ", currency: CNY, prices: [{model: \"llm-*\", image: 1}, {model: \"*\", image: 1}]}", ""},
		{search("") + ", currency: CNY, prices: [{model: \"*\", image: 1}, {model: \"llm-*\", image: 1}]}", `never counts: a price before it catches all of "llm-*"`},
	} {
		got := mustParse(t, tt.doc).Warnings()
		if tt.want == "" {
			if len(got) != 0 {
				t.Errorf("%s is warned of: %q", tt.doc, got)
			}
			continue
		}
		wanted := strings.Split(tt.want, " | ")
		for i, text := range wanted {
			if len(got) != len(wanted) || !strings.HasPrefix(got[i], "line 1:") || !strings.Contains(got[i], text) {
				t.Errorf("%s: got %q, want %q", tt.doc, got, wanted)
				break
			}
		}
	}
}

// TestWarningsShowNoKey: warnings mask the same texts as faults.
func TestWarningsShowNoKey(t *testing.T) {
	doc := "{teams: [{id: a, models: [canary-0123456789ABCDEFGHIJ], quotas: {spend: {day: 1}}}]}"
	said := strings.Join(mustParse(t, doc).Warnings(), "\n")
	if !strings.Contains(said, "[hidden]") || strings.Contains(said, "0123456789") {
		t.Errorf("the warnings are %s", said)
	}
}
