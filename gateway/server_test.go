package gateway_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"sluice/gateway/admin"
	"sluice/gateway/stores"
	"sluice/policy/limit"
)

// secure serves the handler over TLS, with HTTP/2, as the public listener does.
func secure(t *testing.T, handler http.Handler, change func(*http.Server)) *httptest.Server {
	t.Helper()
	server := unstarted(t, handler, discard())
	server.EnableHTTP2 = true
	change(server.Config)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// An HTTP/2 client that opens its windows and reads nothing is cut off, whatever its streams do.
func TestHTTP2ThatReadsNothingEnds(t *testing.T) {
	parallel(t)
	closed := make(chan struct{})
	endless := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		for piece := make([]byte, 64<<10); ; {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	server := secure(t, endless, func(s *http.Server) {
		if s.HTTP2 != nil {
			s.HTTP2.WriteByteTimeout = 100 * time.Millisecond
		}
		s.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				close(closed)
			}
		}
	})
	conn, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	all := []byte{0x7f, 0xff, 0, 0} // nearly the largest window
	opening := append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), h2Frame(4, 0, 0, append([]byte{0, 4}, all...))...)
	opening = append(opening, h2Frame(8, 0, 0, all)...)
	_, _ = conn.Write(append(opening, h2Frame(1, 5, 1, h2Get("/", "x"))...))
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Error("the connection is open")
	}
}

// A refusal before the body ends its stream; the connection, which other requests share, goes on.
func TestHTTP2GoesOnAfterARefusal(t *testing.T) {
	h := build(t)
	server := secure(t, h.gateway, func(*http.Server) {})
	for i, headers := range [][]string{{"Authorization", "Bearer wrong"}, {"Content-Type", "text/plain"}, nil} {
		body, end := io.Pipe()
		defer func() { _ = end.Close() }()
		method, path := "POST", textPath
		if headers == nil {
			method, path = "GET", tasksPath
		}
		r := h.request(method, path, "", headers...)
		r.Body, r.ContentLength = body, 9
		r.URL.Scheme, r.URL.Host = "https", server.Listener.Addr().String()
		var got httptrace.GotConnInfo
		r = r.WithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
			got = info
		}}))
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.ProtoMajor != 2 || err != nil || got.Reused != (i > 0) {
			t.Errorf("%v: %s %d %v, on a connection that was there: %v", headers, resp.Proto, resp.StatusCode, err, got.Reused)
		}
	}
}

// The admin listener answers a request with an announced body immediately, and ends the connection.
func TestTheAdminListenerEnds(t *testing.T) {
	parallel(t)
	handler := admin.New(admin.Deps{
		Ready: func() error { return nil }, Metrics: http.NotFoundHandler(),
	})
	server := unstarted(t, handler, discard())
	if server.Config.ReadTimeout <= 0 || server.Config.WriteTimeout <= 0 {
		t.Fatal("a request or an answer may last for ever")
	}
	server.Config.ReadTimeout = 200 * time.Millisecond
	server.Start()
	t.Cleanup(server.Close)
	h := &harness{TB: t, address: server.Listener.Addr().String()}
	start := func(method, path string) string {
		return strings.Replace(line(method, path, "x"), "Host: sluice", "Host: 127.0.0.1", 1)
	}
	h.endAll([]early{
		{"healthz", start("GET", "/healthz"), 200}, {"readyz", start("GET", "/readyz"), 200}, {"metrics", start("GET", "/metrics"), 404},
		{"usage", start("GET", "/usage"), 404}, {"method", start("POST", "/healthz"), 405}, {"path", start("GET", "/x"), 404},
	}, framings)
}

// A request that runs for longer than its lease keeps its hold.
func TestALongStreamKeepsItsHold(t *testing.T) {
	extended := make(chan time.Duration, 100)
	frames := make(stream)
	h := build(t, func(p *plan) {
		p.upstream = frames
		p.config.HeaderTimeout, p.config.IdleTimeout = 5*time.Second, 5*time.Second
		p.balances = &keeping{Balances: limit.NewMemory(p.now), extended: extended}
	})
	h.gateway.SetLease(40 * time.Millisecond)
	resp, err := h.client.Do(h.request("POST", textPath, textBody, "X-Service-SSE", "enable"))
	if err != nil {
		t.Fatal(err)
	}
	for n, done := 1, false; !done; n++ {
		frames <- n
		select {
		case lease := <-extended:
			done = lease == 40*time.Millisecond
		case <-time.After(5 * time.Millisecond): // time has to pass; the lease decides how much
		}
	}
	close(frames)
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	h.records.await(t, 1)
}

type keeping struct {
	stores.Balances
	extended chan time.Duration
}

func (k *keeping) Extend(ctx context.Context, h *limit.Held, lease time.Duration) error {
	k.extended <- lease
	return k.Balances.Extend(ctx, h, lease)
}

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

// Thousands of streams that are opened and immediately reset keep no other client from its answer.
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
