package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

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
	empty, nothing, something := file("empty.csv", "d,m,a\n"), file("nothing.csv", "d,m,a\n2020-01-01,llm-max,0\n"),
		file("something.csv", "d,m,a\n2020-01-01,llm-max,1\n")
	for _, tt := range []struct {
		name, admin string
		args        []string
		want        int
	}{
		{"the same", h.admin, []string{nothing, "--map", columns}, exitClean},
		{"a difference", h.admin, []string{something, "--map", columns}, exitFailure},
		{"within a large tolerance", h.admin, []string{something, "--map", columns, "--tolerance=100%"}, exitClean},
		{"days that the bill does not have", h.admin, []string{something, "--map", columns, "--from=2020-01-02", "--to=2020-01-03"}, exitFaulty},
		{"a bill with heads alone", h.admin, []string{empty, "--map", columns}, exitFaulty},
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

// The lines that reconcile prints make each day of the bill equal, of each account: after them it ends with 0.
func TestPrintedCorrectionsMakeTheBillEqual(t *testing.T) {
	environ := []string{"SLUICE_REDIS_URL=" + startRedis(t).url(), "SLUICE_TEAMS_FILE=" + write(t, someTeams)}
	past, before := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly), time.Now().UTC().AddDate(0, 0, -40).Format(time.DateOnly)
	_, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL, environ...) // a first charge chooses the currency's digits
	if status, text, err := ask(newClient(t), "http://"+h.public, textURL, demoText); status != 200 || err != nil {
		t.Fatal(status, text, err)
	}
	h.stop()
	environ = append(environ, "SLUICE_ACCOUNTS_FILE="+write(t, "accounts: [{id: main, key_file: a}, {id: eu, key_file: b}]\n"))
	adjust := func(line string) {
		order, reason, _ := strings.Cut(strings.TrimPrefix(line, "sluice "), " --reason ")
		if got := command(t.Context(), environ, append(strings.Fields(order), "--reason", strings.Trim(reason, "'"))...); got.code != exitClean {
			t.Errorf("%s: %+v", line, got)
		}
	}
	for _, of := range []string{past + " --unit spend --delta 5", past + " --account eu --unit spend --delta 2",
		before + " --unit tokens --delta 9", before + " --unit images --delta 3"} {
		adjust("adjust --team search --day " + of + " --reason test")
	}
	bill := write(t, "d,m,a,c,q,k\n"+past+",llm-max,1.5,main,7,input\n"+past+",llm-max,3,eu,0,input\n"+before+",p,0.25,main,4,image\n")
	columns := write(t, "date: {column: d}\nmodel: {column: m}\namount: {column: a}\naccount: {column: c}\nquantity: {column: q}\nkind: "+
		"{column: k}\n"+
		"kinds: [{pattern: input, kind: input}, {pattern: image, kind: image}]\n")
	args := []string{"reconcile", bill, "--map", columns, "--tolerance=0%"}
	first := command(t.Context(), environ, args...)
	if first.code != exitFailure || !strings.Contains(first.stdout, "--day "+past+" --account eu --unit spend --delta=1 ") {
		t.Fatalf("%+v", first)
	}
	for line := range strings.Lines(first.stdout) {
		if strings.HasPrefix(line, "sluice adjust ") {
			adjust(strings.TrimSpace(line))
		}
	}
	if again := command(t.Context(), environ, args...); again.code != exitClean || strings.Contains(again.stdout, "sluice adjust") {
		t.Errorf("%+v\nafter\n%s", again, first.stdout)
	}
	if focus := command(t.Context(), append(environ, "SLUICE_TEAMS_FILE="+write(t, "currency: CNY\n"+someTeams)), "usage", "--focus",
		"--from", before, "--to", past); focus.code != exitClean {
		t.Errorf("%+v", focus)
	} else if own := command(t.Context(), environ, "reconcile", write(t, focus.stdout), "--tolerance=0%"); own.code != exitClean ||
		!strings.Contains(own.stdout, "\nno difference\n") {
		t.Errorf("our own bill: %+v", own)
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
		{"within", "d,m,a\n2020-01-01,llm-max,0\n", nil, exitClean},
		{"beyond", "d,m,a\n2020-01-01,llm-max,1\n", nil, exitFailure},
		{"failed", "d,m,a\n2020-01-01,llm-max,dear\n", nil, exitFaulty},
		{"failed", "d,m,a\n", nil, exitFaulty},
		{"failed", "d,m,a\n2020-01-01,llm-max,0\n", []string{"--tolerance=5"}, exitFaulty}, // as before
		{"within", "d,m,a\n2020-01-01,llm-max,0\n", nil, exitClean},
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
