package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

// from is a connection of a client at an address.
type from struct {
	net.Conn
	address string
}

func (f *from) RemoteAddr() net.Addr { return addressOf(f.address) }

type addressOf string

func (addressOf) Network() string  { return "tcp" }
func (a addressOf) String() string { return string(a) }

func TestMend25ConnectionsForTheDescriptors(t *testing.T) {
	for _, tt := range []struct {
		files uint64
		want  int
	}{{0, 1}, {40, 10}, {512, 128}, {1024, 384}, {20_000, 9_872}, {1 << 20, 16_384}, {1<<64 - 1, 16_384}} {
		if got := connectionsFor(tt.files); got != tt.want {
			t.Errorf("%d files: %d connections, want %d", tt.files, got, tt.want)
		}
	}
}

// One address has a quarter, all together have the whole, and closed connections make room.
func TestMend25ConnectionsOfOneAddressAndOfAll(t *testing.T) {
	var log strings.Builder
	c := newConnections(8, nil, slog.New(slog.NewTextHandler(&log, nil)))
	entered := func(address string) (net.Conn, bool) {
		conn := &from{address: address}
		return conn, c.enter(conn)
	}
	first, _ := entered("192.0.2.1:1000")
	for _, tt := range []struct {
		address string
		want    bool
	}{
		{"192.0.2.1:1001", true},
		{"192.0.2.1:1002", false},
		{"[::ffff:192.0.2.1]:1003", false}, // the same address, written as the other family's
		{"192.0.2.2:1000", true},
		{"[2001:db8::1]:1000", true},
		{"[2001:db8::2]:1000", true},
		{"[2001:db8::3]:1000", false}, // one IPv6 network
		{"[2001:db8:0:1::1]:1000", true},
		{"192.0.2.3:1000", true},
		{"192.0.2.4:1000", true},
		{"192.0.2.5:1000", false}, // eight are open
	} {
		conn, ok := entered(tt.address)
		if ok != tt.want {
			t.Errorf("%s: accepted is %v, want %v", tt.address, ok, tt.want)
		}
		if !ok {
			c.leave(conn) // net/http reports its end as any other's
		}
	}
	if len(c.open) != 8 {
		t.Errorf("%d are open, want 8", len(c.open))
	}
	c.leave(first)
	c.leave(first)
	if _, ok := entered("192.0.2.1:1004"); !ok {
		t.Error("a closed connection makes no room")
	}
	if n := strings.Count(log.String(), "new ones are closed"); n != 1 {
		t.Errorf("the log has %d lines within a minute:\n%s", n, log.String())
	}
	if got := fmt.Sprint(c.state()); !strings.HasPrefix(got, "new connections closed since the start: 4,") || !strings.Contains(got, "SLUICE_MAX_CONNECTIONS is 8, and one address may have 2 of them") {
		t.Errorf("readiness says %q", got)
	}
	c.last = time.Now().Add(-2 * time.Minute)
	if err := c.state(); err != nil {
		t.Errorf("a while later readiness says %v", err)
	}
}

// A trusted proxy's connections belong to many clients, and may use the whole limit.
func TestMend25ATrustedProxyMayHaveAll(t *testing.T) {
	c := newConnections(8, []network{network(netip.MustParsePrefix("10.0.0.0/8")), network(netip.MustParsePrefix("2001:db8::7/128"))}, slog.New(slog.DiscardHandler))
	for n, tt := range []struct {
		address string
		want    bool
	}{
		{"10.1.2.3:1000", true}, {"10.1.2.3:1001", true}, {"10.1.2.3:1002", true}, {"[::ffff:10.1.2.3]:1003", true},
		{"[2001:db8::7]:1000", true}, {"[2001:db8::7]:1001", true}, {"[2001:db8::7]:1002", true},
		{"[2001:db8::8]:1000", true}, {"10.1.2.3:1004", false},
	} {
		if got := c.enter(&from{address: tt.address}); got != tt.want {
			t.Errorf("connection %d, of %s: accepted is %v, want %v", n, tt.address, got, tt.want)
		}
	}
}

// Over real sockets: surplus connections are closed at once, even if they send nothing, and the open ones go on.
func TestMend25SurplusConnectionsAreClosed(t *testing.T) {
	for _, secure := range []bool{false, true} {
		c := newConnections(12, nil, slog.New(slog.DiscardHandler))
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
		c.watch(server.Config)
		if secure {
			server.StartTLS()
		} else {
			server.Start()
		}
		var held []net.Conn
		for range 3 {
			held = append(held, dial(t, server.Listener.Addr().String()))
		}
		surplus := dial(t, server.Listener.Addr().String())
		_ = surplus.SetReadDeadline(time.Now().Add(patience)) // ends a hang
		if n, err := surplus.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("TLS %v: the fourth of three is open: %d %v", secure, n, err)
		}
		for _, conn := range held {
			_ = conn.Close()
		}
		if !secure {
			eventually(t, func() bool { // once the server has noticed that the others left
				text, err := get(dial(t, server.Listener.Addr().String()))
				return err == nil && strings.HasPrefix(text, "HTTP/1.0 404")
			})
		}
		server.Close()
		eventually(t, func() bool { return c.counted() == 0 })
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

func (c *connections) counted() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) + len(c.of)
}

// get sends a request over a connection that ends with the answer.
func get(conn net.Conn) (string, error) {
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
	text, err := io.ReadAll(conn)
	return string(text), err
}

// The bound is the public listener's; the admin listener has another, and readiness reports closed connections.
func TestMend25TheBoundIsThePublicListeners(t *testing.T) {
	_, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL, "SLUICE_MAX_CONNECTIONS=8")
	client := newClient(t)
	held := []net.Conn{dial(t, h.public), dial(t, h.public)}
	if text, err := get(dial(t, h.public)); text != "" {
		t.Errorf("the third of two is answered %q %v", text, err)
	}
	if status, text, err := ask(client, "http://"+h.admin, "/readyz?verbose", ""); err != nil || status != http.StatusOK || !strings.Contains(text, "connections: new connections closed since the start: 1,") {
		t.Errorf("readiness: %d %q %v", status, text, err)
	}
	for _, conn := range held {
		_ = conn.Close()
	}
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d; it said\n%s", code, h.log.bytes())
	}
}

// A stop does not wait for clients that announced a body and send none.
func TestMend25AStopWithConnectionsThatSendNothing(t *testing.T) {
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
