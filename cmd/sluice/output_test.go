package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/cmd/sluice/settings"
	"sluice/gateway/simulator"
	"sluice/policy/limit/limittest"
)

// piped is a gateway as a process of its own, whose standard output the test reads.
type piped struct {
	house

	process *exec.Cmd
	output  *os.File
	lines   *bufio.Scanner
	begun   string // the log until it served
}

// startPiped starts a gateway that writes errors to stderr, and waits until it serves.
func startPiped(t *testing.T, stderr *os.File, variables ...string) *piped {
	t.Helper()
	_, upstream := newService(t, simulator.Config{})
	p := &piped{house: house{
		public: fmt.Sprintf("127.0.0.1:%d", limittest.FreePort(t)), admin: fmt.Sprintf("127.0.0.1:%d", limittest.FreePort(t)),
	}}
	reads, writes, err := os.Pipe()
	must(t, err)
	p.process, p.output, p.lines = exec.Command(gatewayBinary(t)), reads, bufio.NewScanner(reads)
	p.process.Args, p.process.Stdout, p.process.Stderr = []string{"sluice", "serve"}, writes, stderr
	p.process.Env = append([]string{
		"SLUICE_UPSTREAM_URL=" + upstream.URL + "/api/v1", "SLUICE_UPSTREAM_KEY=sk-upstream", "SLUICE_TEAMS_FILE=" + write(t, someTeams),
		"SLUICE_LISTEN=" + p.public, "SLUICE_ADMIN_LISTEN=" + p.admin, "SLUICE_SHUTDOWN_DELAY=0", "PATH=" + os.Getenv("PATH"),
	}, variables...)
	must(t, p.process.Start())
	t.Cleanup(func() { _ = p.process.Process.Kill(); _ = p.process.Wait(); _ = reads.Close() })
	_ = writes.Close()
	p.begun = p.find(t, `"msg":"serving"`)
	return p
}

// find reads the log until a line has a text, and returns what it read.
func (p *piped) find(t *testing.T, text string) (said string) {
	t.Helper()
	must(t, p.output.SetReadDeadline(time.Now().Add(patience)))
	for p.lines.Scan() {
		if said += p.lines.Text() + "\n"; strings.Contains(p.lines.Text(), text) {
			return said
		}
	}
	t.Fatalf("it never logs %s, but\n%s", text, said)
	return said
}

// end stops the gateway, which must be a clean stop.
func (p *piped) end(t *testing.T) {
	t.Helper()
	must(t, p.process.Process.Signal(syscall.SIGTERM))
	if err := p.process.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// TestAnOutputWhoseReaderIsGoneEndsNothing: a log shipper ends, and with it the reader of standard output. Requests are answered as
// before, the lines are counted as lost, and a stop is a clean one.
func TestAnOutputWhoseReaderIsGoneEndsNothing(t *testing.T) {
	p := startPiped(t, nil)
	_ = p.output.Close()
	client, begun := newClient(t), time.Now()
	for lost := 0.0; lost < 3; lost = p.value(t, "sluice_log_dropped_total") {
		if status, _, err := ask(client, "http://"+p.public, textURL, demoText); err != nil || status != http.StatusOK {
			t.Fatal(status, err)
		}
		if time.Since(begun) > patience {
			t.Fatalf("after %v only %v lines are counted as lost", patience, lost)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if page := askOK(t, "http://"+p.admin+"/readyz?verbose"); !regexp.MustCompile(
		`(?m)log: .*\d+ lines were lost since the start; a write failed: broken pipe$`).
		MatchString(page) {
		t.Errorf("readiness says\n%s", page)
	}
	p.end(t)
}

// TestLinesLostToAFullDiskSayIt: standard output is a file on a disk without room.
func TestLinesLostToAFullDiskSayIt(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	t.Cleanup(func() { _ = full.Close() })
	log := openLog(settings.Settings{}, full)
	log.Logger().Info("a line")
	closeLog(log)
	if state := logState(log); state == nil || state.Error() != "1 lines were lost since the start; a write failed: no space left on device" {
		t.Errorf("the state is %v", state)
	}
}

// TestStandardErrorWhoseReaderIsGoneEndsNothing: the link to log in to the console has no reader, and the log says so.
func TestStandardErrorWhoseReaderIsGoneEndsNothing(t *testing.T) {
	reads, writes, err := os.Pipe()
	must(t, err)
	must(t, reads.Close())
	t.Cleanup(func() { _ = writes.Close() })
	p := startPiped(t, writes, fmt.Sprintf("SLUICE_CONSOLE_LISTEN=127.0.0.1:%d", limittest.FreePort(t)))
	if want := `"level":"WARN","msg":"console","warning":"the link to log in could not be written to standard error: `; !strings.Contains(
		p.begun, want) || !strings.Contains(p.begun, "broken pipe") || strings.Contains(p.begun, "code=") {
		t.Errorf("%s is missing in\n%s", want, p.begun)
	}
	if status, _, err := ask(newClient(t), "http://"+p.public, textURL, demoText); err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	p.end(t)
}
