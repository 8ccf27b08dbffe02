package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// mutation is a small fault in the code: new in place of old in the file. The tests of the file's package must fail on it.
// docs/mutations.md describes how to run them.
type mutation struct {
	about    string
	file     string // from the module's root
	old, new string // old MUST occur in the file exactly once
	lives    string // why no test can fail on it; empty: a test must
}

func (m mutation) name() string { return m.file + "/" + strings.ReplaceAll(m.about, " ", "-") }

// apply returns the file with the fault in it.
func (m mutation) apply(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", m.file))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte(m.old)); n != 1 || m.old == m.new {
		t.Fatalf("%s: %q occurs %d times, want once: adapt the fault to today's code", m.name(), m.old, n)
	}
	return bytes.Replace(text, []byte(m.old), []byte(m.new), 1)
}

// overlay writes the faulty file outside the module, and returns the go command's flag that replaces the original by it.
func (m mutation) overlay(t *testing.T) string {
	t.Helper()
	original, err := filepath.Abs(filepath.Join("../..", m.file))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	faulty, list := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: faulty}})
	must(t, errors.Join(err, os.WriteFile(faulty, m.apply(t), 0o600)))
	must(t, os.WriteFile(list, replace, 0o600))
	return "-overlay=" + list
}

// inModule runs the go command at the module's root.
func inModule(t *testing.T, args ...string) (said string, ok bool) {
	t.Helper()
	run := exec.CommandContext(t.Context(), "go", args...)
	run.Dir = "../.."
	text, err := run.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), err == nil
}

// pkg returns the package of the file, or the one that embeds it. The parts of policy/limit are tested through each other.
func (m mutation) pkg() string {
	dir := filepath.Dir(m.file)
	if strings.HasPrefix(dir, "policy/limit") {
		return "./policy/limit/..."
	}
	if filepath.Ext(m.file) != ".go" {
		dir = filepath.Dir(dir)
	}
	return "./" + dir
}

// killed reports whether the tests of the file's package fail on the fault, and returns their output.
func (m mutation) killed(t *testing.T) (said string, dead bool) {
	t.Helper()
	pkg, overlay := m.pkg(), m.overlay(t)
	if said, ok := inModule(t, "build", overlay, pkg); !ok {
		t.Fatalf("it does not build, which says nothing of the tests:\n%s", said)
	}
	if said, ok := inModule(t, "test", pkg); !ok { // as a rule it is cached
		t.Fatalf("the tests fail without it:\n%s", said)
	}
	said, ok := inModule(t, "test", overlay, "-failfast", "-vet=off", "-timeout=5m", pkg)
	return said, !ok
}

// TestMutationsAreKilled puts each of the faults into the code, and expects a test to fail. Each takes some twenty seconds:
// MUTATE=all, or a number of them chosen at random.
func TestMutationsAreKilled(t *testing.T) {
	chosen := os.Getenv("MUTATE")
	if chosen == "" {
		t.Skip("MUTATE=all (or a number) go test -run TestMutationsAreKilled/gateway -v -timeout 0 ./cmd/sluice")
	}
	list := mutations
	if n, err := strconv.Atoi(chosen); err == nil {
		list = nil
		for _, i := range rand.Perm(len(mutations))[:min(n, len(mutations))] {
			list = append(list, mutations[i])
		}
	}
	for _, m := range list {
		t.Run(m.name(), func(t *testing.T) {
			said, dead := m.killed(t)
			switch {
			case dead && m.lives != "":
				t.Errorf("it should survive, because %s; but:\n%s", m.lives, said)
			case dead:
				t.Logf("killed by %s", firstFailure(said))
			case m.lives != "":
				t.Logf("lives: %s", m.lives)
			default:
				t.Errorf("it survives: %q for %q", m.new, m.old)
			}
		})
	}
}

// firstFailure returns the first failed test, or the end of the output.
func firstFailure(said string) string {
	for line := range strings.Lines(said) {
		if name, failed := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); failed {
			return name
		}
	}
	return strings.TrimSpace(said[max(0, len(said)-200):])
}

// TestMutationsStillApply: the list is up to date with the code, and the page has the faults that survive.
func TestMutationsStillApply(t *testing.T) {
	page, err := os.ReadFile("../../docs/mutations.md")
	must(t, err)
	seen := map[string]bool{}
	for _, m := range mutations {
		m.apply(t)
		if seen[m.name()] {
			t.Errorf("two have the name %s", m.name())
		}
		seen[m.name()] = true
		if m.lives != "" && !strings.Contains(string(page), m.about) {
			t.Errorf("docs/mutations.md does not say why this one lives: %s", m.about)
		}
	}
}
