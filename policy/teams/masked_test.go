package teams_test

import (
	"strings"
	"testing"

	"sluice/policy/teams"
)

// plainCanary has the form of a key, wordCanary has not. Neither may be shown in place of a digest.
const (
	plainCanary = "slk_aaaaaaaaaaaa_canary00000000000000000000000000000000000pX1"
	wordCanary  = "canary"
)

// TestH01PlainKeyRefused: a plain key makes the file unusable wherever it stands, and is never repeated.
func TestH01PlainKeyRefused(t *testing.T) {
	for name, doc := range map[string]string{
		"as digest":       key("id: 7f3k9q2m4x1c, sha256: KEY"),
		"as key id":       key("id: KEY, sha256: " + aDigest),
		"as team id":      "{teams: [{id: KEY}]}",
		"as key":          team("keys: [KEY]"),
		"in another name": key("id: 7f3k9q2m4x1c, sha256: " + aDigest + ", key: KEY"),
		"as a name":       team("KEY: 1"),
		"as a rule":       team("rules: {KEY: off}"),
		"as a model":      team("models: [KEY]"),
		"as a price":      "{teams: [], prices: [{model: KEY, image: KEY}]}",
		"in a comment":    "teams: [] # KEY\n",
		"in quotes":       "teams: [] \n# \"KEY\"",
		"before a slip":   "teams: [] KEY",
		"as an alias":     "teams: *KEY",
		"as a tag":        "teams: !KEY x",
		"as a directive":  "%YAML KEY\n---\nteams: []",
		"in open quotes":  "teams: \"KEY",
		"as all":          "KEY",
		"split up":        "teams: []\ncurrency: \"x KEY\"",
	} {
		faults := faultsOf(t, []byte(strings.ReplaceAll(doc, "KEY", plainCanary)))
		said := faults.Error()
		for _, f := range faults {
			said += f.Caret() + f.Word
		}
		if !strings.Contains(said, "plain key") || strings.Contains(said, "canary") || strings.Contains(said, plainCanary[:16]) {
			t.Errorf("%s: got\n%s", name, said)
		}
	}
}

// TestH01NothingShownForDigest: a value in place of a digest may be a key of any form, even a word.
func TestH01NothingShownForDigest(t *testing.T) {
	for _, value := range []string{
		wordCanary, `"` + wordCanary + `"`, wordCanary + " with spaces", "[" + wordCanary + "]", "{" + wordCanary + ": 1}",
		"!" + wordCanary + " x", "&" + wordCanary + " x",
	} {
		said := faultsOf(t, []byte("{teams: [{id: a, keys: [{id: 7f3k9q2m4x1c, sha256: "+value+"}]}]}")).Error()
		if value[0] != '{' && !strings.Contains(said, "teams[0].keys[0].sha256: ") || strings.Contains(said, wordCanary) {
			t.Errorf("%s: got\n%s", value, said)
		}
	}
}

// TestFaultsShowLittle: at most 64 bytes of any input, nothing that looks like a secret, and one line.
func TestFaultsShowLittle(t *testing.T) {
	for _, tt := range []struct{ given, shown string }{
		{"Word", `"Word"`},
		{strings.Repeat("A b", 21) + "C", `"` + strings.Repeat("A b", 21) + `C"`}, // 64 bytes
		{strings.Repeat("A b", 22), `"` + strings.Repeat("A b", 20) + `A…"`},
		{strings.Repeat("é ", 40), `"` + strings.Repeat("é ", 20) + `…"`},
		{"SK-0123456789abcdefghij", `"SK-[hidden]"`},
		{"X-0123456789abcdefghi", `"X-0123456789abcdefghi"`},
		{"a_long_word_of_lower_case_letters", `"a_long_word_of_lower_case_letters"`},
		{"slk_", `"[hidden]"`},
		{aDigest, `"[hidden]"`},
		{`a\nb`, `"a\nb"`},
		{`\u202Eevil`, `"\u202eevil"`},
	} {
		f := faultsOf(t, []byte(`{teams: [{id: "`+tt.given+`"}]}`))[0]
		if got, _, _ := strings.Cut(strings.TrimPrefix(f.Text, "got "), ", allowed: "); got != tt.shown {
			t.Errorf("%q is shown as %s, want %s", tt.given, got, tt.shown)
		}
	}
}

// TestFieldNamesAreShownPlainly: a name from the file cannot break a fault into lines or pass for another field.
func TestFieldNamesAreShownPlainly(t *testing.T) {
	for name, want := range map[string]string{
		`"a\nline 9: b"`: `"a\nline 9: b"`,
		`"a: b"`:         `"a: b"`,
		`""`:             `""`,
		"5":              "5",
		"true":           "true",
	} {
		if got := faultsOf(t, []byte("{teams: [], "+name+": 1}"))[0].Field; got != want {
			t.Errorf("%s is shown as %s, want %s", name, got, want)
		}
	}
	var faults teams.Faults
	if got := faults.Error(); got != "" {
		t.Errorf("no faults say %q", got)
	}
}
