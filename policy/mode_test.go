package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy"
)

// TestParseModes reads the setting as operators write it.
func TestParseModes(t *testing.T) {
	for text, want := range map[string]policy.Modes{
		"":                    nil,
		"  ":                  nil,
		"header.sse=off":      {"header.sse": policy.ModeOff},
		" header.sse=refuse ": {"header.sse": policy.ModeRefuse},
		"header.sse=warn,header.async=off,\nimage.prompt.length=refuse": {
			"header.sse": policy.ModeWarn, "header.async": policy.ModeOff, "image.prompt.length": policy.ModeRefuse,
		},
	} {
		got, err := policy.ParseModes(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q gave %v (-want +got):\n%s", text, err, diff)
		}
	}
}

// TestEveryRuleTakesEveryMode: the setting reaches the whole table.
func TestEveryRuleTakesEveryMode(t *testing.T) {
	for _, id := range policy.RuleIDs() {
		for _, mode := range []policy.Mode{policy.ModeRefuse, policy.ModeWarn, policy.ModeOff} {
			modes, err := policy.ParseModes(id + "=" + string(mode))
			if err != nil || modes.Of(id, "") != mode {
				t.Errorf("%s=%s gave %v, %v", id, mode, modes, err)
			}
		}
	}
}

// TestParseModesFaults: all of them at once, the known id that was meant, and no secret.
func TestParseModesFaults(t *testing.T) {
	modes, err := policy.ParseModes("image.promt.length=warn,header.sse=loud,header.sse=off,header.async,,=off,header.sse =off,header.sse= off," +
		"slk_aaaaaaaaaaaa_canary00000000000000000000000000000000000pX=off,header.async=slk_canary")
	const want = `image.promt.length: unknown rule (meant image.prompt.length?), allowed: the ids that sluice check --rules prints
header.sse: got "loud", allowed: refuse, warn or off
header.sse: stands twice, allowed: each rule once
header.async: got "", allowed: refuse, warn or off
"": unknown rule, allowed: the ids that sluice check --rules prints
"": got "", allowed: refuse, warn or off
"": unknown rule, allowed: the ids that sluice check --rules prints
"header.sse ": unknown rule (meant header.sse?), allowed: the ids that sluice check --rules prints
header.sse: stands twice, allowed: each rule once
header.sse: got " off", allowed: refuse, warn or off
[hidden]: unknown rule, allowed: the ids that sluice check --rules prints
header.async: stands twice, allowed: each rule once
header.async: got "[hidden]", allowed: refuse, warn or off`
	if modes != nil || err == nil {
		t.Fatalf("got %v, %v", modes, err)
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestMend12SlipsOfRuleIDs: an ordinary slip of an id is named, with the id that was meant. What has another form may be a
// secret, and is hidden.
func TestMend12SlipsOfRuleIDs(t *testing.T) {
	for id, want := range map[string]string{
		"Image.seed":                          "Image.seed: unknown rule (meant image.seed?)",
		"image-seed":                          "image-seed: unknown rule (meant image.seed?)",
		"IMAGE.EDIT-SIZE":                     "IMAGE.EDIT-SIZE: unknown rule (meant image.edit.size?)",
		"text.max-tokens":                     "text.max-tokens: unknown rule (meant text.max_tokens?)",
		"image.edit.size2":                    "image.edit.size2: unknown rule (meant image.edit.size?)",
		"image.edit.size.area2":               "image.edit.size.area2: unknown rule (meant image.edit.size.area?)",
		"Header-SSE":                          "Header-SSE: unknown rule (meant header.sse?)",
		"image.Whatever-2-is-said":            "image.Whatever-2-is-said: unknown rule,",
		"sk-0123456789abcdef0123456789abcdef": "[hidden]: unknown rule,",
		"Kj38sLq9.Zx81mQ2p":                   "[hidden]: unknown rule,",
		"AKIA-1234.abcD":                      "[hidden]: unknown rule,",
		"image." + strings.Repeat("Ab9", 40):  "[hidden]: unknown rule,",
		"image.seed/":                         "[hidden]: unknown rule",
		"slk_aaaaaaaaaaaa_canary0000":         "[hidden]: unknown rule,",
	} {
		_, err := policy.ParseModes(id + "=off")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s gave %v\nwant %s", id, err, want)
		}
	}
	for mode, want := range map[string]string{"Off": `"Off"`, "WARN": `"WARN"`, "refuse1": `"refuse1"`, "x9Kq-2.pL": `"[hidden]"`, "0ffice": `"[hidden]"`} {
		if _, err := policy.ParseModes("header.sse=" + mode); err == nil || err.Error() != "header.sse: got "+want+", allowed: refuse, warn or off" {
			t.Errorf("%s gave %v", mode, err)
		}
	}
}

// TestModesOverride: a team's modes lie over the gateway's, and neither is changed.
func TestModesOverride(t *testing.T) {
	gateway := policy.Modes{"a": policy.ModeWarn, "b": policy.ModeWarn}
	team := policy.Modes{"b": policy.ModeOff, "c": policy.ModeRefuse}
	for _, tt := range []struct{ under, over, want policy.Modes }{
		{gateway, team, policy.Modes{"a": policy.ModeWarn, "b": policy.ModeOff, "c": policy.ModeRefuse}},
		{gateway, nil, gateway},
		{nil, team, team},
		{nil, nil, nil},
	} {
		if diff := cmp.Diff(tt.want, tt.under.Override(tt.over)); diff != "" {
			t.Errorf("%v over %v: -want +got:\n%s", tt.over, tt.under, diff)
		}
	}
	if gateway.Of("b", policy.ModeOff) != policy.ModeWarn || team.Of("b", policy.ModeWarn) != policy.ModeOff {
		t.Error("Override changed what it was given")
	}
	if got := team.Of("a", policy.ModeRefuse); got != policy.ModeRefuse {
		t.Errorf("a rule that is not set is %s, want its own mode", got)
	}
}

// TestNearest: one slip is found, another word is not.
func TestNearest(t *testing.T) {
	known := []string{"SLUICE_LISTEN", "SLUICE_ADMIN_LISTEN", "limit", "limits", "per"}
	for word, want := range map[string]string{
		"SLUICE_LISTEN":            "SLUICE_LISTEN",
		"SLUICE_LISTNE":            "SLUICE_LISTEN", // swapped
		"SLUICE_LSTEN":             "SLUICE_LISTEN", // missing
		"SLUICE_LISTTEN":           "SLUICE_LISTEN", // doubled
		"SLUICE_ADMIN_LISTENS":     "SLUICE_ADMIN_LISTEN",
		"limut":                    "limit",
		"limitz":                   "limit", // as near to limits: the first counts
		"pre":                      "per",
		"limxz":                    "", // two of five
		"xyz":                      "",
		"p":                        "",
		"":                         "",
		strings.Repeat("x", 1<<20): "",
	} {
		if got := policy.Nearest(word, known); got != want {
			t.Errorf("the nearest to %.20q is %q, want %q", word, got, want)
		}
	}
	if got := policy.Nearest("a", nil); got != "" {
		t.Errorf("of no words %q is the nearest", got)
	}
}
