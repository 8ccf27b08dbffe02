package refusal

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// The table of refusals, as teams see it.
func TestRefusalsGolden(t *testing.T) {
	var b bytes.Buffer
	names := make(map[string]bool)
	for _, r := range Rows {
		_, _ = fmt.Fprintf(&b, "%-22s %d %s\n", r.Name, r.Status, r.Code)
		row := fmt.Sprint(r.Name, r.Status)
		if names[row] || !regexp.MustCompile(`^[a-z]+/[a-z_]+$`).MatchString(r.Name) {
			t.Errorf("%s: twice, or not of the form stage/reason", r.Name)
		}
		names[row] = true
	}
	const path = "testdata/refusals.golden"
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || b.String() != string(want) {
		t.Errorf("%v; the table is\n%s", err, b.String())
	}
	page, err := os.ReadFile("../../docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Rows {
		if row := fmt.Sprintf("| `%s` | %d | %s |", r.Name, r.Status, r.Code); !strings.Contains(string(page), row) {
			t.Errorf("docs/errors.md lacks the row %s", row)
		}
	}
}

// What a client sent reaches its answer, and neither log nor console.
func TestTheLogsReasonHasNoValueThatAClientSent(t *testing.T) {
	r := New(Rules).Say("%s", `a: given "my \"secret\" word", allowed 1 (x.y); b: given 7, allowed 1`)
	if got, want := r.Shown(), `a: given "…", allowed 1 (x.y); b: given 7, allowed 1`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
