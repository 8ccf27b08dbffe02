package load

import (
	"bytes"
	"net"
	"testing"
	"time"

	"sluice/docs/bench/servers"
)

// listen runs the service.
func listen(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() { _ = servers.Service(listener) }()
	return listener.Addr().String()
}

func dial(t *testing.T, n int) []*Conn {
	t.Helper()
	conns, err := Dial(listen(t), n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Close(conns) })
	return conns
}

const chat = "POST /api/v1/text HTTP/1.1\r\nHost: b\r\nContent-Length: 17\r\n\r\n{\"model\":\"llm-1\"}"

func TestClosed(t *testing.T) {
	if n, err := Closed(dial(t, 3), []byte(chat), 10*time.Millisecond); err != nil || n < 3 {
		t.Errorf("%d answers, %v", n, err)
	}
}

// TestOpen: one connection sends requests that are due together one after the other, and every wait counts.
func TestOpen(t *testing.T) {
	conns := dial(t, 1)
	// 49 ms a stream
	pausing := []byte("POST /api/v1/text HTTP/1.1\r\nX-Service-SSE: enable\r\nContent-Length: 25\r\n\r\n{\"model\":\"llm-pause-1ms\"}")
	took, err := Open(conns, pausing, 1000, 4*time.Millisecond)
	if err != nil || len(took) != 4 {
		t.Fatalf("%d answers, %v", len(took), err)
	}
	for i, least := range []time.Duration{49, 97, 145, 193} { // each due a millisecond after the one before
		if took[i] < least*time.Millisecond {
			t.Errorf("answer %d took %v from when it was due, less than %d ms", i, took[i], least)
		}
	}
}

func TestQuantile(t *testing.T) {
	times := make([]time.Duration, 100)
	for i := range times {
		times[i] = time.Duration(i)
	}
	if Quantile(times, 0.5) != 50 || Quantile(times, 0.99) != 99 || Quantile(times, 1) != 99 || Quantile(nil, 0.5) != 0 {
		t.Error(Quantile(times, 0.5), Quantile(times, 0.99), Quantile(times, 1), Quantile(nil, 0.5))
	}
}

func TestBodiesAndStreams(t *testing.T) {
	body := append([]byte("POST /api/v1/text HTTP/1.1\r\nContent-Length: 300000\r\n\r\n"), bytes.Repeat([]byte("x"), 300_000)...)
	if _, err := Bodies(dial(t, 4), body); err != nil {
		t.Error(err)
	}
	stream := []byte("POST /api/v1/text HTTP/1.1\r\nX-Service-SSE: enable\r\nContent-Length: 0\r\n\r\n")
	if err := Streams(dial(t, 250), stream); err != nil {
		t.Error(err)
	}
	if err := Streams(dial(t, 1), []byte(chat)); err == nil {
		t.Error("an answer that is no stream is taken for one")
	}
}
