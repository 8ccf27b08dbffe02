package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// part runs one function of .ci/run, with a program in place of go that prints what it is given and exits as it is told.
func part(t *testing.T, function, says, exits string) (string, error) {
	t.Helper()
	text := regexp.MustCompile(`(?ms)^` + function + `\(\) \{\n.*?^\}\n`).FindString(readRoot(t, ".ci/run"))
	if text == "" {
		t.Fatalf(".ci/run has no function %s", function)
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\necho \"$GO_SAYS\"\nexit $GO_EXITS\n"), 0o700))
	c := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", text+function)
	c.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "GO_SAYS=" + says, "GO_EXITS=" + exits}
	out, err := c.CombinedOutput()
	return string(out), err
}

// TestAKnownHoleFailsTheRun, and a database that cannot be had does not, but the run says so.
func TestAKnownHoleFailsTheRun(t *testing.T) {
	for _, tt := range []struct {
		says, exits, prints string
		ok                  bool
	}{
		{"No vulnerabilities found.", "0", "", true},
		{"Vulnerability #1: GO-2026-1", "3", "GO-2026-1", false},
		{"Vulnerability #1: GO-2026-1", "1", "GO-2026-1", false},
		{"govulncheck: loading packages: broken", "1", "loading packages", false},
		{`govulncheck: fetching vulnerabilities: Get "https://vuln.go.dev/index/modules.json.gz": no such host`, "1", "govulncheck was not run: its database, vuln.go.dev, cannot be had here.\n", true},
		{"", "124", "govulncheck was not run", true}, // timeout's
	} {
		if out, err := part(t, "holes", tt.says, tt.exits); (err == nil) != tt.ok || !strings.Contains(out, tt.prints) || tt.prints == "" && out != "" {
			t.Errorf("%q: %v, %q", tt.says, err, out)
		}
	}
}

// TestTheMachinesOwnGoIsTheReaders where it can build the module.
func TestTheMachinesOwnGoIsTheReaders(t *testing.T) {
	for version, ok := range map[string]bool{"go1.26.0": true, "go1.26.8": true, "go1.26.11": true, "go1.27": true, "go1.25.9": false, "go1.9": false} {
		out, err := part(t, "own", version, "0")
		if (err == nil) != ok || ok && strings.TrimSpace(out) != version {
			t.Errorf("%s: %v, %q", version, err, out)
		}
	}
	if !strings.Contains(readRoot(t, ".ci/run"), `check "$tests with $version" env ${chosen:-} bash`) {
		t.Error(".ci/run does not run the README's command with the chosen Go")
	}
}
