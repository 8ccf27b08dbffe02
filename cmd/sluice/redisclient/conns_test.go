package redisclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"testing"
	"time"
)

// TestConnectingHasTheOperatorsTime: the client waits for a TLS handshake that is slower than leastDialTime. The error proves it:
// it concerns the certificate, which arrives late in the handshake, and is not a timeout.
func TestConnectingHasTheOperatorsTime(t *testing.T) {
	certificate := httptest.NewTLSServer(nil)
	defer certificate.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			time.Sleep(3 * leastDialTime)
			secure := tls.Server(conn, certificate.TLS)
			_ = secure.Handshake() // the client refuses the certificate
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	}()
	address, _ := ParseAddress("rediss://" + listener.Addr().String())
	c := Open(Config{Address: address, Timeout: patience, KeyPrefix: "sl1:", Away: errors.New("away"), Log: slog.New(slog.DiscardHandler)})
	defer func() { _ = c.Close() }()
	err = c.Ping(t.Context()).Err()
	if _, refused := errors.AsType[*tls.CertificateVerificationError](err); !refused {
		t.Errorf("%v, want a refused certificate", err)
	}
}

// TestAReplyThatIsThereIsRead: a reply that arrived before the deadline is read after it, as by a process that was starved of
// CPU. A missing one is a timeout.
func TestAReplyThatIsThereIsRead(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	var all conns
	conn, err := all.dialer(false, nil, patience)(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Write([]byte("+OK\r\n")); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(-time.Second))
	reply := make([]byte, 16)
	if n, err := conn.Read(reply); err != nil || string(reply[:n]) != "+OK\r\n" {
		t.Errorf("%q, %v", reply[:n], err)
	}
	_ = conn.SetWriteDeadline(time.Now().Add(-time.Second))
	if n, err := conn.Write([]byte("PING\r\n")); err != nil || n != 6 {
		t.Errorf("%d bytes written, %v", n, err)
	}
	silent, err := all.dialer(false, nil, patience)(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	_ = silent.SetReadDeadline(time.Now().Add(-time.Second))
	if _, err := silent.Read(reply); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v, want a timeout", err)
	}
}

// TestTheAuthoritiesOfNowCount: a new connection to Redis under TLS is verified by the authorities of now.
func TestTheAuthoritiesOfNowCount(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	trusted, roots := x509.NewCertPool(), x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	var all conns
	dial := all.dialer(true, func() *x509.CertPool { return roots }, patience)
	if _, err := dial(t.Context(), "tcp", server.Listener.Addr().String()); err == nil {
		t.Fatal("an authority that nobody named is trusted")
	}
	roots = trusted
	conn, err := dial(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// TestEachConnectionTellsItsProcess: the function refuses the first connection, and its call fails; the next is used.
func TestEachConnectionTellsItsProcess(t *testing.T) {
	c := open(t, startRedis(t), time.Second)
	refused := errors.New("another process")
	var runs []string
	c.OnConnect(func(_ context.Context, run string) error {
		runs = append(runs, run)
		if len(runs) == 1 {
			return refused
		}
		return nil
	})
	if err := c.Ping(t.Context()).Err(); !errors.Is(err, refused) {
		t.Errorf("the first call fails with %v, want %v", err, refused)
	}
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	if len(runs) != 2 || len(runs[0]) != 40 || runs[0] != runs[1] {
		t.Errorf("the connections are to the processes %q, want one name of 40 letters, told twice", runs)
	}
}
