package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// git runs git in a directory, whoever owns it, without the patterns that the machine's user ignores everywhere.
func git(t *testing.T, dir, stdin string, args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	command := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "safe.directory=*", "-c",
		"core.excludesFile=/dev/null"}, args...)...)
	command.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil && stderr.Len() > 0 {
		t.Logf("git %q: %s", args, stderr.String())
	}
	return string(out), err
}

// outOfContext reports whether .dockerignore leaves a file out of the build: the last pattern decides that matches it or a folder above it.
func outOfContext(t *testing.T, name string) (out bool) {
	t.Helper()
	for line := range strings.SplitSeq(readRoot(t, ".dockerignore"), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, kept := strings.CutPrefix(line, "!")
		anywhere := strings.HasPrefix(pattern, "**/")
		pattern = strings.TrimPrefix(pattern, "**/")
		if strings.Contains(pattern, "**") || strings.HasPrefix(pattern, "/") || strings.HasSuffix(pattern, "/") ||
			anywhere && strings.Contains(pattern, "/") {
			t.Fatalf(".dockerignore has %s, a form of pattern that this test does not know", line)
		}
		for part := name; part != "."; part = path.Dir(part) {
			is := part
			if anywhere {
				is = path.Base(part)
			}
			if matches, err := path.Match(pattern, is); err != nil {
				t.Fatalf("%s: %v", line, err)
			} else if matches {
				out = !kept
			}
		}
	}
	return out
}

// TestTheBuildHasTheWholeRepository: a tracked file that the build lacks is a change of the source for Go, which `sluice version` would
// report.
func TestTheBuildHasTheWholeRepository(t *testing.T) {
	if _, err := os.Stat("../../.git"); err != nil {
		t.Skip("the checkout has no history")
	}
	tracked, err := git(t, "../..", "", "ls-files", "-z")
	must(t, err)
	names := strings.FieldsFunc(tracked, func(r rune) bool { return r == 0 })
	if len(names) < 500 {
		t.Fatalf("git knows %d files", len(names))
	}
	for _, name := range append(names, ".git/HEAD", ".git/index", ".git/refs/heads/main", ".git/refs/heads/old.key") {
		if outOfContext(t, name) {
			t.Errorf("the build lacks %s", name)
		}
	}
	if ignored, err := git(t, "../..", "", "ls-files", "-ci", "--exclude-standard"); err != nil || ignored != "" {
		t.Errorf(".gitignore has files of the repository: %v\n%s", err, ignored)
	}
}

// written are the files in the checkout that the pages' commands write, or read because a page had them written, with where they are named.
func written(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for page, text := range documents(t) {
		if strings.HasPrefix(page, "docs/bench/") {
			continue
		}
		for section := range strings.SplitSeq(text, "\n## ") {
			below := ""
			for _, block := range regexp.MustCompile("(?s)\n```sh( [a-z-]+)?\n(.+?)```\n").FindAllStringSubmatch(section, -1) {
				commands := regexp.MustCompile(`(?m) +# .*$`).ReplaceAllString(block[2], "")
				if strings.Contains(commands, "&& cd trial\n") {
					below = "trial/"
				}
				if strings.HasPrefix(block[1], " composition-") { // they run in deploy/
					commands = strings.ReplaceAll(commands, " secrets/", " deploy/secrets/")
				}
				texts[page] += regexp.MustCompile(`(>| -o| --bill| tee) ?([a-z])`).ReplaceAllString(commands, "$1 "+below+"$2")
			}
		}
	}
	for _, file := range chartValues(t) {
		texts[filepath.Base(file)] = readFileText(t, file)
	}
	names := make(map[string]string)
	inQuotes := regexp.MustCompile(`'[^']*'`) // what another program or another machine runs
	writes := regexp.MustCompile(
		`(?:> ?|/dev/stdin |--from-file=|--set-file teams\.inline=|--rdb |--bill |tee | -o |cp [^ \n]+ )([A-Za-z.][\w./-]*)`)
	for place, text := range texts {
		for _, match := range writes.FindAllStringSubmatch(inQuotes.ReplaceAllString(text, "Q"), -1) {
			name := match[1]
			if strings.HasSuffix(name, "/") { // cp's folder
				name += "teams.yaml"
			}
			names[name] = place
		}
	}
	return names
}

// TestWhatThePagesWriteStaysOutOfRepositoryAndImage, in the places where their commands write it, and secrets wherever they lie.
func TestWhatThePagesWriteStaysOutOfRepositoryAndImage(t *testing.T) {
	names := written(t)
	for _, want := range []string{
		"deploy/secrets/minted", "deploy/secrets/team-key", "deploy/secrets/upstream-key", "deploy/secrets/redis-url",
		"deploy/secrets/console-token",
		"deploy/secrets/upstream-proxy", "deploy/secrets/client-secret", "deploy/secrets/backup.rdb", "deploy/accounts/main", "deploy/.env",
		"deploy/teams/teams.yaml",
		"teams.yaml", "trial/key.txt", "trial/main.key", "trial/sluice.log", "trial/bill.csv", "trial/picture.png", "directory.json",
		"console-token",
	} {
		if names[want] == "" {
			t.Errorf("%s was not found among what the pages write: %q", want, slices.Sorted(maps.Keys(names)))
		}
	}
	for _, beside := range []string{"deploy/sluice.env", "deploy/collector.env", "sluice", "trial/sluice", "key.txt"} {
		names[beside] = "an operator's checkout"
	}
	for name, place := range names {
		if strings.HasPrefix(name, "deploy/secrets/") && !strings.HasSuffix(name, ".yaml") {
			names[path.Base(name)], names["docs/"+path.Base(name)] = place, place
		}
	}
	dir := t.TempDir()
	_, err := git(t, dir, "", "init", "-q")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(readRoot(t, ".gitignore")), 0o600))
	ignored, err := git(t, dir, strings.Join(slices.Sorted(maps.Keys(names)), "\n")+"\n", "check-ignore", "--stdin")
	must(t, err)
	for name, place := range names {
		if !slices.Contains(strings.Fields(ignored), name) {
			t.Errorf("%s writes %s, which git does not ignore", place, name)
		}
		if !outOfContext(t, name) {
			t.Errorf("%s writes %s, which would be in the build of the image", place, name)
		}
	}
	if !outOfContext(t, ".git/config") {
		t.Error("the build has the password of the repository's origin")
	}
}
