package teams_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/strictyaml"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

var updateTeams = flag.Bool("update-teams", false, "write the golden files of the teams file's faults and warnings")

// TestDocuments: each document of the files yields the lines below it, and none of them has a key or a line end.
func TestDocuments(t *testing.T) {
	for _, name := range []string{"testdata/documents.txt", "testdata/accounts.txt"} {
		t.Run(filepath.Base(name), func(t *testing.T) { documents(t, name) })
	}
}

func documents(t *testing.T, name string) {
	var got strings.Builder
	var kind, template string
	for line := range strings.Lines(string(readDoc(t, name))) {
		switch {
		case strings.HasPrefix(line, "      "): // the earlier messages
			continue
		case strings.HasPrefix(line, "  "):
			given := strings.TrimSuffix(line[2:], "\n")
			line += "      " + strings.Join(saidOf(t, kind, decoded(strings.Replace(template, "…", given, 1))), "\n      ") + "\n"
		case line != "\n" && line[0] != '#':
			kind, template, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		}
		got.WriteString(line)
	}
	goldenDoc(t, name, got.String())
}

var escaped = regexp.MustCompile(`⟨([^⟩×]*)(×[0-9]+)?⟩`)

// decoded is a document as the reader gets it.
func decoded(text string) []byte {
	return []byte(escaped.ReplaceAllStringFunc(strings.ReplaceAll(text, "↵", "\n"), func(match string) string {
		parts := escaped.FindStringSubmatch(match)
		if parts[2] == "" {
			bytes, _ := hex.DecodeString(parts[1])
			return string(bytes)
		}
		n, _ := strconv.Atoi(strings.TrimPrefix(parts[2], "×"))
		return strings.Repeat(parts[1], n)
	}))
}

// saidOf reads a document and returns the messages about it.
func saidOf(t *testing.T, kind string, doc []byte) (said []string) {
	t.Helper()
	file, err := teams.Parse(doc)
	switch kind {
	case "accounts":
		var accounts *teams.Accounts
		if accounts, err = teams.ParseAccounts(doc); err == nil {
			return append([]string{"legal: " + shownAccounts(accounts)}, accounts.Warnings()...)
		}
		file = nil
	case "directory":
		file, _, err = mustParse(t, "teams: []").Join(doc, none)
		if _, again := teams.ReadDocument(doc); (again == nil) != (err == nil) {
			t.Errorf("%.99q is read as a document: %v", doc, again)
		}
	}
	var faults strictyaml.Faults
	if err == nil {
		legal := "legal:"
		for _, team := range file.List {
			legal += " " + team.ID
		}
		return append([]string{legal}, file.Warnings()...)
	}
	if !errors.As(err, &faults) || file != nil {
		t.Errorf("%.99q gives %v, %v", doc, file, err)
	}
	line := 0
	for _, f := range faults {
		if all := f.String() + f.Word; strings.Contains(all, "\n") || strings.Contains(all+f.Caret(), "canary") || f.Line < line {
			t.Errorf("%.99q shows a key, or has another order: %q", doc, all)
		}
		line = f.Line
		said = append(said, f.String())
	}
	return said
}

// TestAllFaultsOfAFileAtOnce: one file with every fault yields all of them together, in the order of its lines.
func TestAllFaultsOfAFileAtOnce(t *testing.T) {
	faults := faultsOf(t, readDoc(t, "testdata/faults.yaml"))
	goldenDoc(t, "testdata/faults.golden", faults.Error()+"\n")
	var carets strings.Builder
	for _, f := range faults {
		carets.WriteString(f.Caret())
	}
	goldenDoc(t, "testdata/carets.golden", carets.String())
	for _, text := range []string{faults.Error(), carets.String()} {
		if strings.Contains(text, "canary") {
			t.Error("a fault shows a canary")
		}
	}
}

// TestAllWarningsOfAFile: a legal but maybe unintended value is a warning, not a fault. A reader that changes the warnings does not
// change another's.
func TestAllWarningsOfAFile(t *testing.T) {
	file, err := teams.Parse(readDoc(t, "testdata/warnings.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	clear(file.Warnings())
	goldenDoc(t, "testdata/warnings.golden", strings.Join(file.Warnings(), "\n")+"\n")
}

// shownAccounts is what was read of accounts, without what is as it would be if it were absent.
func shownAccounts(accounts *teams.Accounts) string {
	var all []string
	for _, a := range accounts.List {
		text := a.ID + " " + a.KeyFile
		for _, part := range []struct {
			name  string
			value any
			as    string // if it is absent
		}{
			{"url", a.URL, "<nil>"}, {"models", a.Models, "[]"}, {"teams", a.Teams, "[]"}, {"weight", a.Weight, "1"}, {"limits", a.Limits, "[]"},
			{"query_rate", a.QueryRate, "0"}, {"region", a.Region, ""},
		} {
			if value := fmt.Sprint(part.value); value != part.as {
				text += " " + part.name + "=" + value
			}
		}
		if a.Quotas != nil {
			text += fmt.Sprint(" ", a.Quotas.ID, "=", a.Quotas.Quotas)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// TestFilesAsRead: each file of the directory is read as in the golden file beside it, a line for each team, zero members left
// out.
func TestFilesAsRead(t *testing.T) {
	names, err := filepath.Glob("testdata/read/*.yaml")
	if err != nil || len(names) < 5 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		file := mustParse(t, string(readDoc(t, name)))
		lines := append([]string(nil), file.Warnings()...)
		for _, team := range file.List {
			if file.Team(team.ID) != team {
				t.Errorf("another team %s is found", team.ID)
			}
			lines = append(lines, shown(t, struct {
				*teams.Team
				Spends bool
			}{team, team.Spends()}))
		}
		file.List = nil
		lines = append(lines, shown(t, file), "")
		goldenDoc(t, strings.TrimSuffix(name, "yaml")+"golden", strings.Join(lines, "\n"))
	}
}

// shown is a value as JSON, without members that are zero.
func shown(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(members, func(name string, value any) bool {
		return value == nil || value == "" || value == 0.0 || value == false || name == "Money" && value == 9.0
	})
	text, _ = json.Marshal(members)
	return string(text)
}

// faultsOf parses a file that must have faults.
func faultsOf(t testing.TB, doc []byte) strictyaml.Faults {
	t.Helper()
	file, err := teams.Parse(doc)
	var faults strictyaml.Faults
	if !errors.As(err, &faults) || file != nil || len(faults) == 0 {
		t.Fatalf("Parse gave %v, %v, want nil and faults for:\n%s", file, err, doc)
	}
	return faults
}

func mustParse(t testing.TB, doc string) *teams.File {
	t.Helper()
	file, err := teams.Parse([]byte(doc))
	if err != nil {
		t.Fatalf("%v\nin:\n%s", err, doc)
	}
	return file
}

func readDoc(t testing.TB, name string) []byte {
	t.Helper()
	doc, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func goldenDoc(t *testing.T, name, got string) {
	t.Helper()
	if *updateTeams {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(readDoc(t, name)), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

// TestFaultCaret: the caret is under the word, and only the word is drawn.
func TestFaultCaret(t *testing.T) {
	const before = "    keys: [{id: 7f3k9q2m4x1c, sha256: hunter2, "
	got := ""
	for _, f := range faultsOf(t, []byte("teams:\n  - id: a\n"+before+"expire: 1}]\n")) {
		got += f.Caret()
	}
	indent := strings.Repeat(" ", len(before))
	if want := indent + "expire\n" + indent + "^^^^^^\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	far := strictyaml.Fault{Column: 1 << 20, Word: "far"}.Caret()
	if want := strings.Repeat(" ", 128) + "far\n"; !strings.HasPrefix(far, want) || len(far) != 2*len(want) {
		t.Errorf("a fault far out is drawn %d bytes wide", len(far))
	}
	if got := (strictyaml.Fault{Text: "no place"}).Caret() + (strictyaml.Faults)(nil).Error(); got != "" {
		t.Errorf("a fault without a place draws %q", got)
	}
}

// TestSpendIsExact: no amount passes through a float, which cannot represent most of these.
func TestSpendIsExact(t *testing.T) {
	for text, want := range map[string]int64{
		"0.1": 100_000_000, "0.3": 300_000_000, "0.000000003": 3, "1.000000001": 1_000_000_001, "4503599.627370497": 4_503_599_627_370_497,
		"9007199.254740991": unit.Most, "123456.7": 123_456_700_000_000,
		"1.23e-7": 123, "1E-9": 1, "3e-1": 300_000_000, "4503599627370497e-9": 4_503_599_627_370_497, "0.0000000001e+1": 1,
		"90.0e2": 9_000_000_000_000,
	} {
		list := mustParse(t, "{teams: [{id: search, quotas: {spend: {day: "+text+"}}}]}")
		if got := list.List[0].Quotas[0].Limit; got != want {
			t.Errorf("%s is %d, want %d", text, got, want)
		}
	}
}
