package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// failing is a listener whose next results are set by the test.
type failing struct {
	net.Listener
	results []error
}

func (f *failing) Accept() (net.Conn, error) {
	err := f.results[0]
	f.results = f.results[1:]
	return nil, err
}

func TestAcceptErrorsAreToldOnceAndTaken(t *testing.T) {
	var log strings.Builder
	full := &net.OpError{Op: "accept", Err: errors.New("too many open files")}
	a := &acceptor{Listener: &failing{results: []error{full, full, nil, net.ErrClosed}}, log: slog.New(slog.NewTextHandler(&log, nil))}
	for _, want := range []string{
		"no connection can be accepted (1 times since the start): too many open files",
		"no connection can be accepted (2 times since the start): too many open files",
		"<nil>",
		"<nil>",
	} {
		_, _ = a.Accept()
		if got := fmt.Sprint(a.state()); got != want {
			t.Errorf("state is %q, want %q", got, want)
		}
	}
	if strings.Count(log.String(), "no connection can be accepted") != 1 || strings.Count(log.String(), "accepted again") != 1 {
		t.Errorf("logged\n%s\nwant each once", log.String())
	}
}

// TestFileDescriptorsRunOut starts the binary with a low limit of file descriptors and uses them all.
func TestFileDescriptorsRunOut(t *testing.T) {
	serve := exec.Command("sh", "-c", "ulimit -n 40; exec sluice serve")
	said := newTranscript()
	serve.Stdout, serve.Stderr = said, said
	serve.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"SLUICE_UPSTREAM_URL=http://127.0.0.1:1/api/v1", "SLUICE_UPSTREAM_KEY=sk-upstream", "SLUICE_TEAMS_FILE=" + write(t, someTeams),
		"SLUICE_LISTEN=127.0.0.1:0", "SLUICE_ADMIN_LISTEN=127.0.0.1:0", "SLUICE_SHUTDOWN_DELAY=0",
		"SLUICE_MAX_CONNECTIONS=1000", // more than the limit allows; by its defaults the gateway would stay below it
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = serve.Process.Kill(); _ = serve.Wait() }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	await := func(pattern string) [][]byte {
		t.Helper()
		match, err := said.find(ctx, regexp.MustCompile(pattern))
		if err != nil {
			t.Fatalf("%v; wanted %s in\n%s", err, pattern, said.bytes())
		}
		return match
	}
	match := await(`"msg":"serving","listen":"([^"]+)".*"admin":"([^"]+)"`)
	public, admin := string(match[1]), string(match[2])

	probe := dial(t, admin) // a probe that keeps its connection; a new one would have to wait
	defer func() { _ = probe.Close() }()
	if text := over(t, probe, "/healthz?verbose"); !strings.Contains(text, "accept: ok\n") {
		t.Errorf("before: %q", text)
	}
	var crowd []net.Conn
	for range 60 {
		crowd = append(crowd, dial(t, public))
	}
	await(`no connection can be accepted`)
	if text := over(t, probe, "/healthz?verbose"); !strings.HasPrefix(text, "ok\n") || !strings.Contains(text, "too many open files") {
		t.Errorf("when they have run out: %q", text)
	}
	for _, conn := range crowd {
		_ = conn.Close()
	}
	await(`connections are accepted again`)
	status, _, err := ask(newClient(t), "http://"+public, "/api/v1/tasks", "")
	if err != nil || status != http.StatusOK {
		t.Errorf("when the load has dropped: %d %v", status, err)
	}
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// over sends a GET over a connection that stays open.
func over(t *testing.T, conn net.Conn, path string) string {
	t.Helper()
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// dialFrom connects from another address of this machine.
func dialFrom(t *testing.T, from, address string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}
