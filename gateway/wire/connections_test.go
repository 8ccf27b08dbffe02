package wire

import (
	"context"
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
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const patience = 30 * time.Second // longer than anything here takes

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// from is a connection of a client at an address.
type from struct {
	net.Conn
	address string
}

func (f *from) RemoteAddr() net.Addr { return addressOf(f.address) }

type addressOf string

func (addressOf) Network() string  { return "tcp" }
func (a addressOf) String() string { return string(a) }

func bounded(most int, proxies ...netip.Prefix) *Connections {
	return newConnections(Config{Listener: "public", Most: most, Proxies: proxies, Log: slog.New(slog.DiscardHandler)})
}

// entered opens a connection of a client at an address, and returns which one was closed for it.
func (c *Connections) entered(address string) (conn *from, ended net.Conn) {
	conn = &from{address: address}
	return conn, c.enter(conn)
}

// One address has a quarter, all together have the whole, and closed connections make room. While all work, new ones are closed.
func TestOneAddressHasAQuarter(t *testing.T) {
	var log strings.Builder
	c := newConnections(Config{Listener: "public", Setting: "SLUICE_MAX_CONNECTIONS", Most: 8, Log: slog.New(slog.NewTextHandler(&log, nil))})
	first, _ := c.entered("192.0.2.1:1000")
	c.work(first, 1)
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
		conn, ended := c.entered(tt.address)
		if ok := ended == nil; ok != tt.want || !ok && ended != net.Conn(conn) {
			t.Errorf("%s: accepted is %v, want %v", tt.address, ok, tt.want)
		}
		if ended == nil {
			c.work(conn, 1)
		} else {
			c.leave(conn) // net/http reports its end as any other's
		}
	}
	if len(c.open) != 8 {
		t.Errorf("%d are open, want 8", len(c.open))
	}
	c.leave(first)
	c.leave(first)
	if _, ended := c.entered("192.0.2.1:1004"); ended != nil {
		t.Error("a closed connection makes no room")
	}
	if n := strings.Count(log.String(), "too many connections"); n != 1 {
		t.Errorf("the log has %d lines within a minute:\n%s", n, log.String())
	}
	const want = "public listener: SLUICE_MAX_CONNECTIONS is 8, and one address may have 2; reached within the last minute; since the " +
		"start 0 idle connections made room for new ones, and 4 new ones were closed"
	if got := fmt.Sprint(c.state()); got != want {
		t.Errorf("readiness says %q, want %q", got, want)
	}
	c.last = time.Now().Add(-2 * time.Minute)
	if err := c.state(); err != nil {
		t.Errorf("a while later readiness says %v", err)
	}
}

// At the bound the connection is closed that is idle longest, of the address with the most of them, or of the address that has its
// quarter already. One that works is never closed.
func TestTheLongestIdleConnectionMakesRoom(t *testing.T) {
	c := bounded(8)
	var conns []*from
	for _, address := range []string{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.2:2", "192.0.2.3:1", "192.0.2.3:2", "192.0.2.4:1", "192.0.2.4:2",
		"192.0.2.5:1"} {
		conn, ended := c.entered(address)
		if ended != nil {
			t.Fatalf("%s: another was closed", address)
		}
		conns = append(conns, conn)
	}
	for n, change := range []struct {
		conn, more int
	}{{1, 1}, {2, 1}, {2, 1}, {2, -1}, {3, 1}, {3, -1}} { // the second address works; the third's first was idle again at last
		if !c.work(conns[change.conn], change.more) {
			t.Fatalf("change %d: the connection is closed", n)
		}
	}
	for n, tt := range []struct {
		address string
		ended   int // of conns; -1: the new one
	}{
		{"192.0.2.6:1", 4}, // of two with two idle connections each, the longer idle one
		{"192.0.2.7:1", 5}, // the fourth address has the most now
		{"192.0.2.2:3", -1},
		{"192.0.2.8:1", 0}, // all have one but the second, which works: so the longest idle of all
		{"192.0.2.9:1", 6},
		{"192.0.2.10:1", 7},
		{"192.0.2.10:2", 3},
	} {
		conn, ended := c.entered(tt.address)
		want := net.Conn(conn)
		if tt.ended >= 0 {
			want = conns[tt.ended]
		}
		if ended != want {
			t.Errorf("%d, %s: closed is %v, want %v", n, tt.address, ended, want)
		}
	}
	for _, conn := range conns[1:3] {
		if !c.isOpen(conn) {
			t.Error("a connection that worked was closed")
		}
	}
	if c.ended != 6 || c.closed != 1 || len(c.open) != 8 {
		t.Errorf("%d made room, %d were closed, %d are open", c.ended, c.closed, len(c.open))
	}
	c.leave(conns[1])
	c.leave(conns[2])
	if conn, ended := c.entered("192.0.2.2:4"); ended != nil || !c.isOpen(conn) {
		t.Error("the second address has no room after its connections ended")
	}
}

// An address that has its quarter gets a new connection for its own oldest idle one.
func TestAnAddressMakesRoomForItself(t *testing.T) {
	c := bounded(16)
	other, _ := c.entered("192.0.2.9:1")
	var own []*from
	for n := range 4 {
		conn, _ := c.entered(fmt.Sprintf("192.0.2.1:%d", n))
		own = append(own, conn)
	}
	c.work(own[0], 1)
	for n := range 3 {
		if _, ended := c.entered(fmt.Sprintf("192.0.2.1:1%d", n)); ended != net.Conn(own[n+1]) {
			t.Errorf("%d: closed is %v, want %v", n, ended, own[n+1])
		}
	}
	if !c.isOpen(own[0]) || !c.isOpen(other) {
		t.Error("one that worked, or another address's, was closed")
	}
}

// A trusted proxy's connections belong to many clients, and may use the whole limit. They make room last.
func TestATrustedProxyMayHaveAll(t *testing.T) {
	c := bounded(8, netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::7/128"))
	var first *from
	for n, address := range []string{
		"10.1.2.3:1000", "10.1.2.3:1001", "10.1.2.3:1002", "[::ffff:10.1.2.3]:1003", "[2001:db8::7]:1000", "[2001:db8::7]:1001",
		"[2001:db8::7]:1002",
	} {
		conn, ended := c.entered(address)
		if ended != nil {
			t.Errorf("connection %d, of %s: another was closed", n, address)
		}
		if first == nil {
			first = conn
		}
	}
	other, ended := c.entered("[2001:db8::8]:1000")
	if ended != nil {
		t.Error("the last place is taken")
	}
	if _, ended := c.entered("10.1.2.3:1004"); ended != net.Conn(other) {
		t.Error("a proxy's connection was closed, and another's was idle")
	}
	if _, ended := c.entered("10.1.2.3:1005"); ended != net.Conn(first) {
		t.Error("the proxies' longest idle connection does not make room for their own")
	}
}

// disguised is a listener whose connections have the addresses of another list, by turns.
type disguised struct {
	net.Listener
	addresses chan string
}

func (d *disguised) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &from{Conn: conn, address: <-d.addresses}, nil
}

// doorTo is a server with bounded connections, whose requests end when the test says so.
type doorTo struct {
	*testing.T
	*httptest.Server
	clients   *Connections
	addresses chan string
	arrived   chan string
	finish    chan struct{}
	end       func()               // closes finish
	before    func(http.ConnState) // called before the connection's state is noted; nil: not called
}

func openDoor(t *testing.T, most int, secure bool, begun Beginning) *doorTo {
	t.Helper()
	d := &doorTo{T: t, clients: bounded(most), addresses: make(chan string, 1), arrived: make(chan string, most), finish: make(chan struct{})}
	d.end = sync.OnceFunc(func() { close(d.finish) })
	d.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/waits":
			d.arrived <- r.Proto
			<-d.finish
		case "/much":
			for range 256 {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		case "/key":
			AcceptKey(r.Context())
			fallthrough
		case "/none":
			d.arrived <- r.Proto
			_, _ = io.Copy(io.Discard, r.Body)
		}
	}))
	d.Listener = &disguised{d.Listener, d.addresses}
	d.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	d.clients.config.Begun = begun
	d.clients.watch(d.Config)
	watched := d.Config.ConnState
	d.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if d.before != nil {
			d.before(state)
		}
		watched(conn, state)
	}
	d.EnableHTTP2 = true
	if secure {
		d.StartTLS()
	} else {
		d.Start()
	}
	t.Cleanup(func() { d.end(); d.Close() })
	return d
}

// from connects as a client at an address, and gives a client whose requests go only over that connection.
func (d *doorTo) from(address string) (net.Conn, *http.Client) {
	d.Helper()
	d.addresses <- address
	conn, err := net.Dial("tcp", d.Server.Listener.Addr().String())
	if err != nil {
		d.Fatal(err)
	}
	eventually(d.T, func() bool { return len(d.addresses) == 0 })
	once := make(chan net.Conn, 1)
	once <- conn
	transport := d.Client().Transport.(*http.Transport).Clone()
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		select {
		case conn := <-once:
			return conn, nil
		default:
			return nil, errors.New("the connection is closed")
		}
	}
	d.Cleanup(func() { transport.CloseIdleConnections(); _ = conn.Close() })
	return conn, &http.Client{Transport: transport, Timeout: patience}
}

func (d *doorTo) get(client *http.Client, path string) error {
	answer, err := client.Get(d.URL + path)
	if err == nil {
		_ = answer.Body.Close()
	}
	return err
}

// Over real sockets, with HTTP/1.1 and HTTP/2: four addresses hold every connection, some of which sent nothing and some a request. A
// fifth address is served, and so is the request that runs meanwhile.
func TestConnectionsWithoutWorkKeepNobodyOut(t *testing.T) {
	for _, secure := range []bool{false, true} {
		d := openDoor(t, 16, secure, AfterBody)
		var silent []net.Conn
		var used []*http.Client
		for n := range 4 {
			address := fmt.Sprintf("192.0.2.%d:1000", n)
			for range 3 {
				conn, _ := d.from(address)
				silent = append(silent, conn)
			}
			_, client := d.from(address)
			if err := d.get(client, "/"); err != nil {
				t.Fatal(err)
			}
			used = append(used, client)
		}
		works := make(chan error, 1)
		go func() { works <- d.get(used[0], "/waits") }()
		if proto := <-d.arrived; secure != (proto == "HTTP/2.0") {
			t.Fatalf("TLS %v speaks %s", secure, proto)
		}
		for range 16 { // as many as all have
			if _, client := d.from("192.0.2.200:1000"); d.get(client, "/") != nil {
				t.Fatalf("TLS %v: the fifth address is not served", secure)
			}
		}
		_ = silent[0].SetReadDeadline(time.Now().Add(patience)) // ends a hang
		if n, err := silent[0].Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("TLS %v: the longest idle connection is open: %d %v", secure, n, err)
		}
		d.end()
		if err := <-works; err != nil {
			t.Errorf("TLS %v: the running request was ended: %v", secure, err)
		}
		d.Close()
		eventually(t, func() bool { return d.clients.counted() == 0 })
	}
}

// While every connection has a request, also over HTTP/2, new ones are closed immediately.
func TestSurplusConnectionsAreClosed(t *testing.T) {
	for _, secure := range []bool{false, true} {
		d := openDoor(t, 12, secure, AfterBody)
		works := make(chan error, 3)
		for range 3 {
			_, client := d.from("192.0.2.1:1000")
			go func() { works <- d.get(client, "/waits") }()
			<-d.arrived
		}
		surplus, _ := d.from("192.0.2.1:1000")
		_ = surplus.SetReadDeadline(time.Now().Add(patience)) // ends a hang
		if n, err := surplus.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("TLS %v: the fourth of three is open: %d %v", secure, n, err)
		}
		d.end()
		for range 3 {
			if err := <-works; err != nil {
				t.Errorf("TLS %v: %v", secure, err)
			}
		}
		d.Close()
		eventually(t, func() bool { return d.clients.counted() == 0 })
	}
}

// A request that arrives as its connection is closed for another does not run: its answer would be lost.
func TestARequestOnAClosedConnectionDoesNotRun(t *testing.T) {
	for _, secure := range []bool{false, true} {
		d := openDoor(t, 4, secure, AfterBody)
		requests := 1
		if secure {
			requests = 2 // HTTP/2 counts its beginning as one
		}
		d.before = func(state http.ConnState) {
			if state != http.StateActive {
				return
			}
			if requests--; requests == 0 {
				d.clients.admit(&from{address: "192.0.2.1:1001"})
			}
		}
		_, client := d.from("192.0.2.1:1000")
		if err := d.get(client, "/waits"); err == nil {
			t.Errorf("TLS %v: the request is answered", secure)
		}
		d.end()
		d.Close()
		if len(d.arrived) != 0 {
			t.Errorf("TLS %v: the request runs", secure)
		}
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

func (c *Connections) counted() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) + len(c.of)
}

// A request works on its connection from the moment its key is accepted, though its body is still on its way: it is not closed for
// another. Without a key it is.
func TestARequestWithAKeyKeepsItsConnection(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, accepted := range []bool{true, false} {
			d := openDoor(t, 4, secure, AfterKey)
			path := "/key"
			if !accepted {
				path = "/none"
			}
			_, client := d.from("192.0.2.1:1000")
			body, rest := io.Pipe()
			works := make(chan error, 1)
			go func() {
				answer, err := client.Post(d.URL+path, "text/plain", body)
				if err == nil {
					_ = answer.Body.Close()
				}
				works <- err
			}()
			_, _ = io.WriteString(rest, "a")
			<-d.arrived
			if _, another := d.from("192.0.2.1:1001"); (d.get(another, "/") == nil) == accepted {
				t.Errorf("TLS %v, key %v: whether another of one was served is wrong", secure, accepted)
			}
			_ = rest.Close()
			if err := <-works; (err == nil) != accepted {
				t.Errorf("TLS %v, key %v: the request ended with %v", secure, accepted, err)
			}
			d.Close()
		}
	}
}

// Clients that ask for much and read nothing do not block a listener whose requests need no key.
func TestUnreadAnswersKeepNobodyOut(t *testing.T) {
	for _, secure := range []bool{false, true} {
		d := openDoor(t, 8, secure, AfterBody)
		for n := range 8 {
			_, client := d.from(fmt.Sprintf("192.0.2.%d:%d", n/2, 1000+n))
			answer, err := client.Get(d.URL + "/much")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = answer.Body.Close() })
		}
		eventually(t, func() bool {
			_, client := d.from("192.0.2.200:1000")
			return d.get(client, "/") == nil
		})
	}
}

// An answer that its client reads late works again, and arrives whole.
func TestAnAnswerThatIsReadLateArrivesWhole(t *testing.T) {
	d := openDoor(t, 8, false, AfterBody)
	_, client := d.from("192.0.2.1:1000")
	answer, err := client.Get(d.URL + "/much")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return d.clients.idle() == 1 })
	n, err := io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	if n != 256*64<<10 || err != nil {
		t.Errorf("%d bytes arrived: %v", n, err)
	}
}

// idle is how many connections make room for others.
func (c *Connections) idle() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.open {
		if one.place >= 0 {
			n++
		}
	}
	return n
}
