package telemetry

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/policy/unit"
)

// Every name that leaves the process is in the golden file: operators' dashboards and alerts depend on them.
func TestNames(t *testing.T) {
	names := slices.DeleteFunc(constants(t, "names.go"), func(name string) bool { return strings.HasSuffix(name, ".") })
	for i, u := range unit.Table {
		names = append(names, string(ownCosts[i]))
		if u.Charged != "" {
			names = append(names, ownUnit+string(u.Name))
		}
	}
	slices.Sort(names)
	text := strings.Join(names, "\n") + "\n"
	golden := filepath.Join("testdata", "names.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != text {
		t.Errorf("the names changed; with -update the golden file does too. They are now\n%s", text)
	}
}

// No other package has names of signals.
func TestNamesStandInOneFile(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	others, err := filepath.Glob("*/*.go")
	if err != nil || len(others) == 0 {
		t.Fatal("no files in other packages", err)
	}
	for _, file := range append(files, others...) {
		if file == "names.go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`"(gen_ai|sluice|http|db|server|url|error)\.[a-z_.]+"`).FindAll(text, -1); found != nil {
			t.Errorf("%s has names of signals: %s", file, found)
		}
	}
}

// constants lists a file's constants that have a dot, as names of signals have.
func constants(t *testing.T, file string) (values []string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && text != "" && !strings.Contains(text, "/") {
				values = append(values, text)
			}
		}
		return true
	})
	return values
}
