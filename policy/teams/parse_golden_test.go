package teams_test

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/teams"
)

var updateTeams = flag.Bool("update-teams", false, "write the golden files of the teams file's faults and warnings")

// TestTeamsFaultsGolden: one file with every fault gives all of them at once, in the order of its lines.
func TestTeamsFaultsGolden(t *testing.T) {
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

// TestTeamsWarningsGolden: a legal but maybe unintended value is a warning, not a fault.
func TestTeamsWarningsGolden(t *testing.T) {
	file, err := teams.Parse(readDoc(t, "testdata/warnings.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	goldenDoc(t, "testdata/warnings.golden", strings.Join(file.Warnings(), "\n")+"\n")
}

// faultsOf parses a file that must have faults.
func faultsOf(t testing.TB, doc []byte) teams.Faults {
	t.Helper()
	file, err := teams.Parse(doc)
	var faults teams.Faults
	if !errors.As(err, &faults) || file != nil || len(faults) == 0 {
		t.Fatalf("Parse gave %v, %v, want nil and faults for:\n%s", file, err, doc)
	}
	return faults
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
