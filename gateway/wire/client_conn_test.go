package wire

import (
	"bytes"
	"context"
	"io"
	"net"
	"testing"
	"time"
)

// accepted is a connection that Listen accepted, and its client's end.
func accepted(t *testing.T) (conn, client net.Conn) {
	t.Helper()
	listener, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if client, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if conn, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = conn.Close(), client.Close() })
	return conn, client
}

// must fails the test at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// reading reads a byte on another goroutine.
func reading(conn net.Conn) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		ended <- err
	}()
	return ended
}

// outcome is how a read ended.
func outcome(t *testing.T, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the read does not end")
	}
	return nil
}

const soon, late = 20 * time.Millisecond, time.Hour

func TestTheLastReadDeadlineCounts(t *testing.T) {
	for _, next := range []struct {
		name     string
		deadline func() time.Time
	}{
		{"none", func() time.Time { return time.Time{} }},
		{"a later one", func() time.Time { return time.Now().Add(late) }},
	} {
		conn, client := accepted(t)
		must(t, conn.SetReadDeadline(time.Now().Add(soon)))
		ended := reading(conn)
		must(t, conn.SetReadDeadline(next.deadline()))
		select {
		case err := <-ended:
			t.Fatalf("%s: the read ended by %v", next.name, err)
		case <-time.After(3 * soon): // the first deadline is over
		}
		_, err := client.Write([]byte{1})
		must(t, err)
		must(t, outcome(t, ended))
	}
}

func TestAnEarlierReadDeadlineEndsAWait(t *testing.T) {
	conn, client := accepted(t)
	for _, past := range []time.Time{time.Now().Add(soon), time.Unix(1, 0)} {
		must(t, conn.SetReadDeadline(time.Now().Add(late)))
		ended := reading(conn)
		time.Sleep(soon / 2) // it may wait by now
		must(t, conn.SetReadDeadline(past))
		if err := outcome(t, ended); !IsTimeout(err) {
			t.Errorf("the read ended by %v", err)
		}
		if _, err := conn.Read(make([]byte, 1)); !IsTimeout(err) {
			t.Errorf("the next read ended by %v", err)
		}
	}
	must(t, conn.SetReadDeadline(time.Time{}))
	_, err := client.Write([]byte{1})
	must(t, err)
	must(t, outcome(t, reading(conn)))
}

func TestAWriteGoesOnBehindADeadlineThatIsNoLongerWanted(t *testing.T) {
	conn, client := accepted(t)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // more than the sockets hold
	for err := error(errPast); IsTimeout(err); {            // a busy machine may be late for the first deadline
		must(t, conn.SetWriteDeadline(time.Now().Add(soon)))
		if _, err = conn.Write(sent[:1]); !IsTimeout(err) {
			must(t, err)
		}
	}
	must(t, conn.SetWriteDeadline(time.Now().Add(late)))
	go func() {
		n, err := conn.Write(sent[1:])
		if n != len(sent)-1 || err != nil {
			t.Errorf("%d bytes and %v", n, err)
		}
		_ = conn.(*clientConn).CloseWrite()
	}()
	time.Sleep(3 * soon) // the first deadline is over while the write waits
	got, err := io.ReadAll(client)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d of %d bytes came, %v", len(got), len(sent), err)
	}
}

func TestAWriteEndsAtItsDeadline(t *testing.T) {
	conn, _ := accepted(t)
	for n := 0; n == 0; { // a busy machine may be late for the deadline
		must(t, conn.SetWriteDeadline(time.Now().Add(soon)))
		var err error
		if n, err = conn.Write(make([]byte, 16<<20)); !IsTimeout(err) || n == 16<<20 {
			t.Fatalf("%d bytes and %v", n, err)
		}
	}
}

// countedConn counts how often the socket's deadlines are set. Reads and writes succeed.
type countedConn struct {
	net.Conn
	set int
}

func (c *countedConn) Read(p []byte) (int, error)       { return len(p), nil }
func (c *countedConn) Write(p []byte) (int, error)      { return len(p), nil }
func (c *countedConn) SetReadDeadline(time.Time) error  { c.set++; return nil }
func (c *countedConn) SetWriteDeadline(time.Time) error { c.set++; return nil }

// These are the deadlines of a request whose body has arrived with its header, as net/http and the gateway set them.
func TestRequestsDoNotMoveTheSocketsDeadlines(t *testing.T) {
	below := new(countedConn)
	conn, p := newClientConn(below), make([]byte, 1)
	for range 100 {
		now := time.Now()
		_ = conn.SetReadDeadline(now.Add(time.Minute)) // idle
		_, _ = conn.Read(p)
		_ = conn.SetReadDeadline(now.Add(5 * time.Second))
		_ = conn.SetReadDeadline(now.Add(10 * time.Second))
		_ = conn.SetWriteDeadline(now.Add(30 * time.Second))
		_ = conn.SetReadDeadline(time.Time{})
		_ = conn.SetReadDeadline(time.Unix(1, 0)) // a read beside the request, which has not begun, ends
		if _, err := conn.Read(p); !IsTimeout(err) {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Time{})
		_, _ = conn.Write(p)
		_ = conn.SetWriteDeadline(time.Time{})
	}
	if below.set > 2 {
		t.Errorf("the socket's deadlines were set %d times, want once for reads and once for writes", below.set)
	}
}
