package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/policy/limit/limittest"
)

// TestAnOutputWhoseReaderIsGoneEndsNothing: a log shipper ends, and with it the reader of standard output. Requests are answered as
// before, the lines are counted as lost, and a stop is a clean one.
func TestAnOutputWhoseReaderIsGoneEndsNothing(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	h := &house{public: fmt.Sprintf("127.0.0.1:%d", limittest.FreePort(t)), admin: fmt.Sprintf("127.0.0.1:%d", limittest.FreePort(t))}
	reads, writes, err := os.Pipe()
	must(t, err)
	serve := exec.Command(gatewayBinary(t))
	serve.Args, serve.Stdout = []string{"sluice", "serve"}, writes
	serve.Env = []string{
		"SLUICE_UPSTREAM_URL=" + upstream.URL + "/api/v1", "SLUICE_UPSTREAM_KEY=sk-upstream", "SLUICE_TEAMS_FILE=" + write(t, someTeams),
		"SLUICE_LISTEN=" + h.public, "SLUICE_ADMIN_LISTEN=" + h.admin, "SLUICE_SHUTDOWN_DELAY=0", "PATH=" + os.Getenv("PATH"),
	}
	must(t, serve.Start())
	t.Cleanup(func() { _ = serve.Process.Kill(); _ = serve.Wait() })
	_ = writes.Close()
	for lines := bufio.NewScanner(reads); lines.Scan() && !strings.Contains(lines.Text(), `"msg":"serving"`); {
	}
	_ = reads.Close()
	client := newClient(t)
	for lost := 0.0; lost < 3; lost = h.value(t, "sluice_log_dropped_total") {
		if status, _, err := ask(client, "http://"+h.public, textURL, demoText); err != nil || status != http.StatusOK {
			t.Fatal(status, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	must(t, serve.Process.Signal(syscall.SIGTERM))
	if err := serve.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}
