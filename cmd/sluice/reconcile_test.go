package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sluice/gateway/simulator"
	"sluice/policy/invoice"
)

// Scripts of operators tell a difference from a fault by the exit code.
func TestExitCodesOfReconcile(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL)
	defer h.stop()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	columns := file("map.yaml", "date: {column: d}\nmodel: {column: m}\namount: {column: a}\n")
	nothing, something := file("nothing.csv", "d,m,a\n"), file("something.csv", "d,m,a\n2020-01-01,llm-max,1\n")
	for _, tt := range []struct {
		name, admin string
		args        []string
		want        int
	}{
		{"the same", h.admin, []string{nothing, "--map", columns}, exitClean},
		{"a difference", h.admin, []string{something, "--map", columns}, exitFailure},
		{"within a large tolerance", h.admin, []string{something, "--map", columns, "--tolerance=100%"}, exitClean},
		{"days without the difference", h.admin, []string{something, "--map", columns, "--from=2020-01-02", "--to=2020-01-03"}, exitClean},
		{"a faulty bill", h.admin, []string{file("faulty.csv", "d,m,a\n2020-01-01,llm-max,dear\n"), "--map", columns}, exitFaulty},
		{"a faulty map", h.admin, []string{nothing, "--map", nothing}, exitFaulty},
		{"a bill of another form", h.admin, []string{nothing}, exitFaulty},
		{"no bill", h.admin, []string{filepath.Join(dir, "none.csv"), "--map", columns}, exitFaulty},
		{"a faulty flag", h.admin, []string{nothing, "--map", columns, "--tolerance=5"}, exitFaulty},
		{"days in the wrong order", h.admin, []string{nothing, "--map", columns, "--from=2020-01-02", "--to=2020-01-01"}, exitFaulty},
		{"no ledger", "127.0.0.1:1", []string{nothing, "--map", columns}, exitFaulty},
	} {
		got := command(t.Context(), []string{"SLUICE_ADMIN_LISTEN=" + tt.admin}, append([]string{"reconcile"}, tt.args...)...)
		if got.code != tt.want {
			t.Errorf("%s: exit code %d, want %d\n%s", tt.name, got.code, tt.want, got.text())
		}
	}
}

// Every map of a bill on the pages can be read.
func TestPagesShowMapsThatAreAccepted(t *testing.T) {
	blocks := 0
	for page, text := range documents(t) {
		for _, block := range regexp.MustCompile("(?s)\n```yaml map\n(.+?)```\n").FindAllStringSubmatch(text, -1) {
			if _, err := invoice.ParseMap([]byte(block[1])); err != nil {
				t.Errorf("%s shows a map that is refused: %v", page, err)
			}
			blocks++
		}
	}
	if blocks == 0 {
		t.Error("no page shows a map")
	}
}

// Every outcome is reported, also that of a bill that cannot be read; a faulty command line is none.
func TestOutcomesOfReconcileAreReported(t *testing.T) {
	server := startRedis(t)
	columns := write(t, "date: {column: d}\nmodel: {column: m}\namount: {column: a}\n")
	for _, tt := range []struct {
		outcome, bill string
		args          []string
		want          int
	}{
		{"within", "d,m,a\n", nil, exitClean},
		{"beyond", "d,m,a\n2020-01-01,llm-max,1\n", nil, exitFailure},
		{"failed", "d,m,a\n2020-01-01,llm-max,dear\n", nil, exitFaulty},
		{"failed", "d,m,a\n", []string{"--tolerance=5"}, exitFaulty}, // as before
		{"within", "d,m,a\n", nil, exitClean},
	} {
		args := append([]string{"reconcile", write(t, tt.bill), "--map", columns, "--report", "36h"}, tt.args...)
		got := command(t.Context(), []string{"SLUICE_REDIS_URL=" + server.url()}, args...)
		reported, _ := server.do("GET", "sl1:reconciled").(string)
		if got.code != tt.want || !strings.Contains(reported, `"outcome":"`+tt.outcome+`"`) {
			t.Errorf("%s: %s, %+v", tt.outcome, reported, got)
		}
	}
	for _, environ := range [][]string{{"SLUICE_ADMIN_LISTEN=127.0.0.1:1"}, {"SLUICE_REDIS_URL=redis://127.0.0.1:1"}} {
		if got := command(t.Context(), environ, "reconcile", write(t, "d,m,a\n"), "--map", columns, "--report", "36h"); got.code != exitFaulty {
			t.Errorf("%q: %+v", environ, got)
		}
	}
}
