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
	"time"

	"sluice/cmd/sluice/settings"
	"sluice/gateway/simulator"
)

func TestConnectionsForTheDescriptors(t *testing.T) {
	for _, tt := range []struct {
		files uint64
		want  int
	}{{0, 1}, {40, 10}, {512, 128}, {1024, 352}, {20_000, 9_840}, {1 << 20, 16_384}, {1<<64 - 1, 16_384}} {
		if got := settings.ConnectionsFor(tt.files); got != tt.want {
			t.Errorf("%d files: %d connections, want %d", tt.files, got, tt.want)
		}
	}
}

// Every listener has a bound of its own, at which idle connections make room: probes are answered, and readiness names each listener.
func TestIdleConnectionsKeepNobodyFromAnyListener(t *testing.T) {
	t.Parallel()
	_, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL, "SLUICE_MAX_CONNECTIONS=8", "SLUICE_CONSOLE_LISTEN=127.0.0.1:0")
	match, err := h.log.find(t.Context(), regexp.MustCompile(`"msg":"console","listen":"([^"]+)"`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		listener, address, path, bound string
		most                           int // of one address
	}{
		{"public", h.public, "/", "SLUICE_MAX_CONNECTIONS is 8", 2},
		{"admin", h.admin, "/healthz", "64", settings.AdminConnections / 4},
		{"console", string(match[1]), "/login", "128", settings.ConsoleConnections / 4},
	} {
		want := fmt.Sprintf("%s listener: %s, and one address may have %d; reached within the last minute; since the start", tt.listener,
			tt.bound, tt.most)
		eventually(t, func() bool { // again if the machine is so slow that the first idle connections have ended
			for range tt.most {
				conn := dial(t, tt.address)
				defer func() { _ = conn.Close() }()
			}
			conn := dial(t, tt.address)
			defer func() { _ = conn.Close() }()
			if text := over(t, conn, tt.path); text == "" {
				t.Errorf("%s: no answer", tt.listener)
			}
			status, text, err := ask(newClient(t), "http://"+h.admin, "/readyz?verbose", "")
			t.Logf("readiness: %d %q %v, want %q", status, text, err, want)
			return err == nil && status == http.StatusOK && strings.Contains(text, want)
		})
	}
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d; it said\n%s", code, h.log.bytes())
	}
}

func TestAStopWithConnectionsThatSendNothing(t *testing.T) {
	t.Parallel()
	_, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL, "SLUICE_SHUTDOWN_GRACE=15s")
	for _, start := range []string{
		"POST /x HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 9\r\n",
		"POST " + textURL + " HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 9\r\n",
		"GET /api/v1/tasks HTTP/1.1\r\nAuthorization: Bearer test\r\nContent-Length: 9\r\n",
		"GET /sluice/v1/usage HTTP/1.1\r\nAuthorization: Bearer test\r\nTransfer-Encoding: chunked\r\n",
	} {
		conn := dial(t, h.public)
		defer func() { _ = conn.Close() }()
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, _ = io.WriteString(conn, start+"Host: x\r\n\r\n")
		if answer, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
			t.Errorf("%q: no answer: %+v %v", start, answer, err)
		}
	}
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d; it said\n%s", code, h.log.bytes())
	}
}

// Requests whose bodies do not end, and requests without a valid key, block no listener: five addresses hold as many connections
// as they may, and a sixth is answered.
func TestUnfinishedRequestsKeepNobodyFromAnyListener(t *testing.T) {
	t.Parallel()
	_, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL, "SLUICE_MAX_CONNECTIONS=16", "SLUICE_CONSOLE_LISTEN=127.0.0.1:0")
	match, err := h.log.find(t.Context(), regexp.MustCompile(`"msg":"console","listen":"([^"]+)"`))
	if err != nil {
		t.Fatal(err)
	}
	const announced = " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n"
	for _, tt := range []struct {
		listener, address, path string
		most                    int // of one address
		requests                []string
	}{
		{"public", h.public, "/", 4, []string{
			"POST " + textURL + announced + "Content-Type: application/json\r\n\r\n{",
			"POST " + textURL + announced + "Authorization: Bearer wrong\r\nContent-Type: application/json\r\n\r\n{",
			"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
			"GET /api/v1/tasks" + announced + "\r\n{",
		}},
		{"admin", h.admin, "/healthz", settings.AdminConnections / 4, []string{
			"GET /healthz" + announced + "\r\n{", "POST /metrics" + announced + "\r\n{",
			"GET /sluice/v1/usage HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
		}},
		{"console", string(match[1]), "/login", settings.ConsoleConnections / 4, []string{
			"POST /login" + announced + "Content-Type: application/x-www-form-urlencoded\r\n\r\nt", "GET /" + announced + "\r\n{",
		}},
	} {
		for _, request := range tt.requests {
			for address := range 5 {
				for range tt.most {
					conn := dialFrom(t, fmt.Sprintf("127.0.1.%d", address+1), tt.address)
					t.Cleanup(func() { _ = conn.Close() })
					_, _ = io.WriteString(conn, request)
				}
			}
			for n := range 10 {
				conn := dialFrom(t, "127.0.1.9", tt.address)
				_ = conn.SetDeadline(time.Now().Add(patience)) // ends a hang
				_, _ = io.WriteString(conn, "GET "+tt.path+" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
				text, _ := io.ReadAll(conn)
				_ = conn.Close()
				if len(text) == 0 {
					t.Errorf("%s, %.40q: probe %d was not answered", tt.listener, request, n)
					break
				}
			}
		}
	}
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d; it said\n%s", code, h.log.bytes())
	}
}

func eventually(t *testing.T, what func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !what(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time")
		}
	}
}

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
