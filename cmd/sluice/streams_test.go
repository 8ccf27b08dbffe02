package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"regexp"
	"testing"
	"time"
)

// streamsOf is how many streams a listener lets a client of HTTP/2 have over one connection, as its first frame says: settings of six
// bytes each, of which number 3 is that.
func streamsOf(t *testing.T, address string, roots *x509.CertPool) uint32 {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience)) // ends a hang
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 9)
	if _, err := io.ReadFull(conn, head); err != nil || head[3] != 4 {
		t.Fatalf("the first frame is %v %v", head, err)
	}
	settings := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(conn, settings); err != nil {
		t.Fatal(err)
	}
	for ; len(settings) >= 6; settings = settings[6:] {
		if binary.BigEndian.Uint16(settings) == 3 {
			return binary.BigEndian.Uint32(settings[2:])
		}
	}
	return 0
}

// A client may have 100 requests at once over one connection, 32 at the console.
func TestStreamsOfAConnectionAreBounded(t *testing.T) {
	certificate, key, roots := selfSigned(t)
	h := serving(t, "http://127.0.0.1:1", "SLUICE_TLS_CERT_FILE="+certificate, "SLUICE_TLS_KEY_FILE="+key, "SLUICE_CONSOLE_LISTEN=127.0.0.1:0")
	match, err := h.log.find(t.Context(), regexp.MustCompile(`"msg":"console","listen":"([^"]+)"`))
	if err != nil {
		t.Fatal(err)
	}
	if public, console := streamsOf(t, h.public, roots), streamsOf(t, string(match[1]), roots); public != 100 || console != 32 {
		t.Errorf("%d streams, and %d at the console, want 100 and 32", public, console)
	}
	if code := h.stop(); code != exitClean {
		t.Errorf("exit code %d", code)
	}
}
