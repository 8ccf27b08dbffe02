package redisclient

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"testing"
	"time"
)

// TestConnectingHasTheOperatorsTime: the client waits for a TLS handshake that is slower than leastDialTime. The error shows that it
// did: it is about the certificate, which comes late in the handshake, and is not a timeout.
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
