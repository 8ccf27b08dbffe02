package gateway_test

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net/http"
	"testing"
)

// h2Frame writes one frame of HTTP/2.
func h2Frame(kind, flags byte, stream uint32, payload []byte) []byte {
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(head, stream), payload...)
}

// h2Get is the header block of a GET with a key: literals without indexing, names from the static table.
func h2Get(path, key string) []byte {
	block := []byte{0x82, 0x87} // :method GET, :scheme https
	block = append(append(block, 0x04, byte(len(path))), path...)
	block = append(append(block, 0x01, 1), 'x')
	return append(append(block, 0x0f, 0x08, byte(len(key))), key...)
}

// Thousands of streams that are opened and reset at once keep no other client from its answer.
func TestRapidReset(t *testing.T) {
	h := build(t)
	server := unstarted(t, h.gateway, discard())
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	conn, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, conn) // until the server or the test gives up
	}()
	flood := append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), h2Frame(4, 0, 0, nil)...)
	for i := range uint32(2000) {
		flood = append(flood, h2Frame(1, 5, 2*i+1, h2Get(tasksPath, "Bearer "+h.keys["search"]))...)
		flood = append(flood, h2Frame(3, 0, 2*i+1, []byte{0, 0, 0, 8})...)
	}
	_, _ = conn.Write(flood)
	for range 50 {
		if got := h.ask("POST", textPath, textBody); got.status != http.StatusOK {
			t.Errorf("a healthy client: %d", got.status)
		}
	}
	_ = conn.Close()
	<-done
}

// HTTP/2 carries the same answers.
func TestHTTP2(t *testing.T) {
	h := build(t)
	server := unstarted(t, h.gateway, discard())
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	for _, headers := range [][]string{nil, {"X-Service-SSE", "enable"}, {"Authorization", "wrong"}} {
		r := h.request("POST", textPath, textBody, headers...)
		r.URL.Scheme, r.URL.Host = "https", server.Listener.Addr().String()
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.ProtoMajor != 2 || err != nil || len(body) == 0 || resp.Header.Get("Sluice-Request-Id") == "" {
			t.Errorf("%v: %s %d %q %v", headers, resp.Proto, resp.StatusCode, body, err)
		}
	}
}
