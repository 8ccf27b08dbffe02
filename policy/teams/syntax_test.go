package teams_test

import (
	"strings"
	"testing"

	"sluice/policy/teams"
)

// TestTeamsSyntax: a document that is not a teams file has one fault, at its place.
func TestTeamsSyntax(t *testing.T) {
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

// TestTeamsSpellings: the usual changes by editors and other systems do not change a file's meaning.
func TestTeamsSpellings(t *testing.T) {
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

// TestTeamsFaultPlaces: every fault of a file with several, in order, with a line each.
func TestTeamsFaultPlaces(t *testing.T) {
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
