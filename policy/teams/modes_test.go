package teams_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy"
	"sluice/policy/teams"
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
		got, err := teams.ParseModes(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q gave %v (-want +got):\n%s", text, err, diff)
		}
	}
}

// TestEveryRuleTakesEveryMode: every rule of the table can be set to every mode.
func TestEveryRuleTakesEveryMode(t *testing.T) {
	for _, id := range policy.RuleIDs() {
		for _, mode := range []policy.Mode{policy.ModeRefuse, policy.ModeWarn, policy.ModeOff} {
			modes, err := teams.ParseModes(id + "=" + string(mode))
			if err != nil || modes.Of(id, "") != mode {
				t.Errorf("%s=%s gave %v, %v", id, mode, modes, err)
			}
		}
	}
}

// TestParseModesFaults: all faults together, with the nearest known id, and no secret.
func TestParseModesFaults(t *testing.T) {
	modes, err := teams.ParseModes(
		"image.promt.length=warn,header.sse=loud,header.sse=off,header.async,,=off,header.sse =off,header.sse= off," +
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

// TestSlipsOfRuleIDsAreShown: a fault quotes a simple slip of an id, with the nearest id. Text of another form may be a
// secret, and is hidden.
func TestSlipsOfRuleIDsAreShown(t *testing.T) {
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
		_, err := teams.ParseModes(id + "=off")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s gave %v\nwant %s", id, err, want)
		}
	}
	for mode, want := range map[string]string{"Off": `"Off"`, "WARN": `"WARN"`, "refuse1": `"refuse1"`, "x9Kq-2.pL": `"[hidden]"`,
		"0ffice": `"[hidden]"`} {
		if _, err := teams.ParseModes("header.sse=" + mode); err == nil ||
			err.Error() != "header.sse: got "+want+", allowed: refuse, warn or off" {
			t.Errorf("%s gave %v", mode, err)
		}
	}
}
