package main

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/SECURITY.md lists the modules that ship, and no others; a row that ends in … is for all below it.
func TestSecurityPageListsTheModulesThatShip(t *testing.T) {
	t.Parallel()
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", ".")
	text, err := list.Output()
	must(t, err)
	shipped := strings.Fields(string(text))
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .+ \\| .+ \\|$").
		FindAllStringSubmatch(readRoot(t, "docs/SECURITY.md"), -1) {
		rows = append(rows, row[1])
	}
	covers := func(row, module string) bool {
		below, all := strings.CutSuffix(row, "/…")
		return module == row || all && (module == below || strings.HasPrefix(module, below+"/"))
	}
	for _, module := range shipped {
		if !slices.ContainsFunc(rows, func(row string) bool { return covers(row, module) }) {
			t.Errorf("%s ships, and is not listed", module)
		}
	}
	for _, row := range rows {
		if !slices.ContainsFunc(shipped, func(module string) bool { return covers(row, module) }) {
			t.Errorf("%s is listed, and does not ship", row)
		}
	}
}

// docs/SECURITY.md says when a run without a failure is no proof, in the words that the run prints.
func TestSecurityPageSaysWhenVulnerabilitiesAreNotLookedFor(t *testing.T) {
	page := readRoot(t, "docs/SECURITY.md")
	out, err := part(t, "holes", "govulncheck: fetching vulnerabilities: no such host", "1")
	if said, _, _ := strings.Cut(out, ":"); err != nil || said == "" || !strings.Contains(page, "it does not fail: it prints `"+said+"`") {
		t.Errorf("the run prints %q, %v, of which the page does not tell", out, err)
	}
}
