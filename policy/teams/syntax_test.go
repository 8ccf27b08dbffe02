package teams_test

import (
	"strings"
	"testing"

	"sluice/policy/teams"
)

// TestFaultsOfSyntax: a document that is not a teams file has one fault, at its place.
func TestFaultsOfSyntax(t *testing.T) {
	const many = 100_000
	for _, tt := range []struct{ name, doc, want string }{
		{"empty", "", "the file is empty, allowed: at least teams: []"},
		{"comments alone", "# teams: []\n", "the file is empty, allowed: at least teams: []"},
		{"no teams", "currency: CNY\n", "line 1:1: teams is missing"},
		{"teams without value", "currency: CNY\nteams:\n", "line 2:8: teams: got no value, allowed: a list of teams, [] for none"},
		{"a word", "teams", "line 1:1: got a single value, allowed: the fields currency, defaults, account, teams, prices, catalogue, aliases or issuers"},
		{"a list", "- teams", "line 1:1: got a list, allowed: the fields currency, defaults, account, teams, prices, catalogue, aliases or issuers"},
		{"two documents", "teams: []\n---\nteams: []\n", "line 3:1: got a second document, allowed: one"},
		{"open bracket", "teams: [\n", "line 1:8: not YAML: sequence end token ']' not found"},
		{"open quote", "currency: \"CNY\nteams: []\n", "line 1:11: not YAML: could not find end character of double-quoted text"},
		{"tab", "teams:\n\t- id: a\n", "line 2:1: not YAML: found character '\t' that cannot start any token"},
		{"NUL", "teams: []\n# a\x00b", "line 2:4: got a control character or no UTF-8, allowed: text"},
		{"no UTF-8", "# é\nteams: [] # é\xff", "line 2:14: got a control character or no UTF-8, allowed: text"},
		{"deep brackets", "teams: " + strings.Repeat("[", many), "line 1:24: not YAML: nested too deep"},
		{"deep braces", "teams: " + strings.Repeat("{a: ", many), "line 1:72: not YAML: nested too deep"},
		{"deep dashes", strings.Repeat("- ", many), "line 1:33: not YAML: nested too deep"},
		{"deep tags", strings.Repeat("!!a ", many), "line 1:49: not YAML: nested too deep"},
		{"deep lines", staircase(200), "line 129:129: not YAML: nested too deep"},
		{"as large as may be", strings.Repeat("#", 8<<20), "the file is empty, allowed: at least teams: []"},
		{"too large", strings.Repeat("#", 8<<20+1), "got 8388609 bytes, allowed: at most 8388608"},
		{"merge key", "teams: []\n<<: {currency: CNY}\n", "line 2:1: ?: got an anchor, alias or merge (what teams share stands under defaults), allowed: a plain word for a field's name"},
		{"alias", "currency: &c CNY\nteams: []\n", "line 1:11: currency: got an anchor, alias or merge (what teams share stands under defaults), allowed: a word of 1 to 16 letters and digits"},
		{"tag", "currency: !!str CNY\nteams: []\n", "line 1:11: currency: got a tag, allowed: a word of 1 to 16 letters and digits"},
		{"block", "currency: |\n  CNY\nteams: []\n", "line 1:11: currency: got a block of text, allowed: a word of 1 to 16 letters and digits"},
	} {
		if got := faultsOf(t, []byte(tt.doc)).Error(); got != tt.want {
			t.Errorf("%s: got\n\t%s\nwant\n\t%s", tt.name, got, tt.want)
		}
	}
}

// staircase nests a mapping in every line.
func staircase(steps int) string {
	var b strings.Builder
	for i := range steps {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// TestSpellingsOfOneMeaning: the usual changes by editors and other systems do not change a file's meaning.
func TestSpellingsOfOneMeaning(t *testing.T) {
	for name, doc := range map[string]string{
		"byte order mark": "\ufeffteams:\n  - id: search\n",
		"Windows":         "teams:\r\n  - id: search\r\n    shadow: false\r\n",
		"no last newline": "teams:\n  - id: search",
		"flow":            `{"teams": [{"id": "search"}]}`,
		"flat dashes":     "teams:\n- id: search\n",
		"end marks":       "---\nteams:\n  - id: search\n...\n",
		"long comment":    "teams:\n  - id: search\n" + strings.Repeat(" ", 500) + "# far out [[[[[[[[[[[[[[[[[[[[[[\n",
		"wrapped far out": "teams: [{id: search, models: [\n" + strings.Repeat(" ", 200) + "a]}]\n",
		"empty fields":    "defaults:\naccount:\nprices:\nteams:\n  - id: search\n    keys:\n    rates:\n    quotas:\n    rules:\n",
	} {
		if teams := mustParse(t, doc); len(teams.List) != 1 || teams.List[0].ID != "search" {
			t.Errorf("%s: got %v", name, teams.List)
		}
	}
}

// TestFaultsInTheOrderOfLines: every fault of a file with several, in order, with a line each.
func TestFaultsInTheOrderOfLines(t *testing.T) {
	faults := faultsOf(t, []byte("prices:\n  - {model: a, image: -1}\nteams:\n  - id: A\ndefaults:\n  shadow: 3\n"))
	var got []string
	for _, f := range faults {
		got = append(got, f.Field)
		if f.Line < 1 || f.Column < 1 || strings.ContainsAny(f.String(), "\n") {
			t.Errorf("%q has no place or several lines", f)
		}
	}
	if want := "prices[0].image teams[0].id defaults.shadow"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFaultCaret: the caret stands under the word, and only the word is drawn.
func TestFaultCaret(t *testing.T) {
	doc := "teams:\n  - id: a\n    keys: [{id: 7f3k9q2m4x1c, sha256: hunter2, expire: 1}]\n"
	got := ""
	for _, f := range faultsOf(t, []byte(doc)) {
		got += f.Caret()
	}
	const column = len("    keys: [{id: 7f3k9q2m4x1c, sha256: hunter2, ")
	indent := strings.Repeat(" ", column)
	if want := indent + "expire\n" + indent + "^^^^^^\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	far := teams.Fault{Column: 1 << 20, Word: "far"}.Caret()
	if want := strings.Repeat(" ", 128) + "far\n"; !strings.HasPrefix(far, want) || len(far) != 2*len(want) {
		t.Errorf("a fault far out is drawn %d bytes wide", len(far))
	}
	if got := (teams.Fault{Text: "no place"}).Caret(); got != "" {
		t.Errorf("a fault without a place draws %q", got)
	}
}

// plainCanary has the form of a key, wordCanary has not. Neither may be shown in place of a digest.
const (
	plainCanary = "slk_aaaaaaaaaaaa_canary00000000000000000000000000000000000pX1"
	wordCanary  = "canary"
)

// TestPlainKeyIsRefusedAndNotShown: a plain key makes the file unusable wherever it stands, and is never repeated.
func TestPlainKeyIsRefusedAndNotShown(t *testing.T) {
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

// TestNothingIsShownForADigest: a value in place of a digest may be a key of any form, even a word.
func TestNothingIsShownForADigest(t *testing.T) {
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
		if f := faultsOf(t, []byte(`{teams: [{id: "`+tt.given+`"}]}`))[0]; f.Given != tt.shown {
			t.Errorf("%q is shown as %s, want %s", tt.given, f.Given, tt.shown)
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

// TestNearest finds one typing error, and no other word.
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
		if got := teams.Nearest(word, known); got != want {
			t.Errorf("the nearest to %.20q is %q, want %q", word, got, want)
		}
	}
	if got := teams.Nearest("a", nil); got != "" {
		t.Errorf("of no words %q is the nearest", got)
	}
}
