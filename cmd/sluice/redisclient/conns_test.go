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

// TestConnectingHasTheOperatorsTime: a handshake that takes longer than the least time of a dial is waited for. It ends with a
// certificate that nobody trusts, so the client has read the server's late answer.
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
