package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

func TestConnectionsForTheDescriptors(t *testing.T) {
	for _, tt := range []struct {
		files uint64
		want  int
	}{{0, 1}, {40, 10}, {512, 128}, {1024, 352}, {20_000, 9_840}, {1 << 20, 16_384}, {1<<64 - 1, 16_384}} {
		if got := connectionsFor(tt.files); got != tt.want {
			t.Errorf("%d files: %d connections, want %d", tt.files, got, tt.want)
		}
	}
}

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
		{"admin", h.admin, "/healthz", "64", adminConnections / 4},
		{"console", string(match[1]), "/login", "128", consoleConnections / 4},
	} {
		for range tt.most {
			conn := dial(t, tt.address)
			defer func() { _ = conn.Close() }()
		}
		conn := dial(t, tt.address)
		if text := over(t, conn, tt.path); text == "" {
			t.Errorf("%s: no answer", tt.listener)
		}
		_ = conn.Close()
		want := fmt.Sprintf("%s listener: %s, and one address may have %d; reached within the last minute; since the start", tt.listener, tt.bound, tt.most)
		if status, text, err := ask(newClient(t), "http://"+h.admin, "/readyz?verbose", ""); err != nil || status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("readiness: %d %q %v, want %q", status, text, err, want)
		}
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
		{"admin", h.admin, "/healthz", adminConnections / 4, []string{
			"GET /healthz" + announced + "\r\n{", "POST /metrics" + announced + "\r\n{", "GET /sluice/v1/usage HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
		}},
		{"console", string(match[1]), "/login", consoleConnections / 4, []string{
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
