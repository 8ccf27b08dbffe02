package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLibrariesRunTheDemonstrationsLines pastes its five lines of Python, as they are printed.
func TestLibrariesRunTheDemonstrationsLines(t *testing.T) {
	t.Parallel()
	dir := sdkDir(t)
	base, search, _, stop := demonstrating(t, "--listen=127.0.0.1:0")
	var said, failed bytes.Buffer
	python := exec.CommandContext(t.Context(), filepath.Join(dir, "openai/bin/python"), "-")
	python.Stdin = strings.NewReader(demoPython(strings.TrimSuffix(base, "/api/v1")+"/v1", search))
	python.Dir, python.Env = t.TempDir(), []string{"PATH=" + os.Getenv("PATH")}
	python.Stdout, python.Stderr = &said, &failed
	if err := python.Run(); err != nil || !regexp.MustCompile(`(?s)^.{20,}\nhttp://127\.0\.0\.1:\d+/pictures/\S+\n$`).MatchString(said.String()) {
		t.Errorf("%v; it said\n%s%s", err, said.String(), failed.String())
	}
	if code := stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}

// TestReadmeShowsTheDemonstrationsLines on its first screen.
func TestReadmeShowsTheDemonstrationsLines(t *testing.T) {
	above, _, shown := strings.Cut(readRoot(t, "README.md"), "\n```python\n"+demoPython("http://127.0.0.1:8080/v1", "slk_…")+"```\n")
	if screen := strings.Count(above, "\n"); !shown || screen > 30 {
		t.Errorf("README.md shows the lines: %v, below %d others", shown, screen)
	}
}
