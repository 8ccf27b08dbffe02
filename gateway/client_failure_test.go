package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/gateway/wire"
	"sluice/policy/limit"
	"sluice/telemetry/meter"
)

// Clients that leave, stop or send slowly.

const frame = "id:%d\nevent:result\n:HTTP_STATUS/200\ndata:{\"output\":{\"text\":\"a\",\"finish_reason\":\"null\"},\"usage\":{\"input_tokens\":5,\"output_tokens\":%d}}\n\n"

// stream is an upstream that sends a frame for each number it receives.
type stream chan int

func (s stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream;charset=UTF-8")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for n := range s {
		if _, err := fmt.Fprintf(w, frame, n, n); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
	}
}

// A client that leaves before the answer's header neither stops the request nor loses its task.
func TestGoneBeforeTheHeader(t *testing.T) {
	gone := make(chan struct{}) // the server has seen that the client is gone
	h := build(t, func(p *plan) {
		p.wrap = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					context.AfterFunc(r.Context(), func() { close(gone) })
				}
				next.ServeHTTP(w, r)
			})
		}
	})
	h.sim.SetFault(simulator.Fault{Stall: "before"})
	ctx, leave := context.WithCancel(context.Background())
	go func() {
		_ = h.sim.AwaitStalled(context.Background(), 1)
		leave()
	}()
	r := h.request("POST", imagePath, imageBody, "X-Service-Async", "enable").WithContext(ctx)
	if _, err := h.client.Do(r); err == nil {
		t.Fatal("the client was answered")
	}
	<-gone
	h.sim.Release()
	record := h.records.await(t, 1)[0]
	if record.Status != 499 || record.UpstreamStatus != 200 || record.Task == "" {
		t.Errorf("record %+v", record)
	}
	h.sim.SetFault()
	if got := h.ask("GET", tasksPath+"/"+record.Task, ""); got.status != http.StatusOK {
		t.Errorf("the task's poll: %d %s", got.status, got.body)
	}
}

// The usage is still read if a client leaves after the last text.
func TestGoneBeforeTheUsage(t *testing.T) {
	frames := make(stream)
	h := build(t, func(p *plan) { p.upstream = frames })
	ctx, leave := context.WithCancel(context.Background())
	resp, err := h.client.Do(h.request("POST", textPath, textBody, "X-Service-SSE", "enable").WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	frames <- 1
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); line != "id:1\n" {
		t.Fatalf("%q %v", line, err)
	}
	leave()
	_ = resp.Body.Close()
	for n := 2; n <= 50; n++ { // the gateway notices at one of these, and continues to read
		frames <- n
	}
	close(frames)
	record := h.records.await(t, 1)[0]
	if n, ok := record.Usage.Get(meter.OutputTokens); record.Status != 499 || !ok || n != 50 {
		t.Errorf("%d output tokens, record %+v", n, record)
	}
}

// A drain is bounded in bytes. The bound in time is a deadline of the connection.
func TestDrainIsBounded(t *testing.T) {
	h := build(t)
	h.sim.SetFault(simulator.Fault{Endless: true, PadBytes: 1 << 20})
	ctx, leave := context.WithCancel(context.Background())
	resp, err := h.client.Do(h.request("POST", textPath, textBody, "X-Service-SSE", "enable").WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	leave()
	_ = resp.Body.Close()
	if record := h.records.await(t, 1)[0]; record.Status != 499 || !record.Usage.Known() {
		t.Errorf("record %+v", record)
	}
}

// A client that does not read is cut off after the time for one write.
func TestSlowReader(t *testing.T) {
	parallel(t)
	h := build(t, func(p *plan) { p.config.WriteTimeout = 200 * time.Millisecond })
	h.sim.SetFault(simulator.Fault{Endless: true, PadBytes: 1 << 20})
	conn := h.dial()
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, h.post("X-Service-SSE: enable"))
	if record := h.records.await(t, 1)[0]; record.Status != 499 {
		t.Errorf("record %+v", record)
	}
}

// The same holds if answers follow each other on one connection: net/http removes the deadline between two requests.
func TestEveryAnswerHasAWriteDeadline(t *testing.T) {
	parallel(t)
	h := build(t, func(p *plan) { p.config.WriteTimeout = 2 * time.Second })
	h.sim.SetFault(simulator.Fault{Endless: true, PadBytes: 1 << 20})
	conn := h.dial()
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, line("GET", tasksPath, h.keys["search"])+"\r\n"+h.post("X-Service-SSE: enable"))
	if record := h.records.await(t, 2)[1]; record.Status != 499 {
		t.Errorf("record %+v", record)
	}
}

// An answer's end is a write, too, and has its full time even if upstream was silent for longer than that.
func TestTheEndOfAnAnswerHasItsTime(t *testing.T) {
	parallel(t)
	frames := make(stream)
	h := build(t, func(p *plan) { p.upstream, p.config.WriteTimeout = frames, 500*time.Millisecond })
	resp, err := h.client.Do(h.request("POST", textPath, textBody, "X-Service-SSE", "enable"))
	if err != nil {
		t.Fatal(err)
	}
	frames <- 1
	if _, err := io.ReadFull(resp.Body, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(700 * time.Millisecond)
	close(frames)
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Errorf("a stream that upstream ended was cut: %v", err)
	}
}

// A client that sends its headers slowly is cut off at the deadline, and delays no other client.
func TestSlowHeaders(t *testing.T) {
	parallel(t)
	if server := wire.NewServer(nil, discard()); server.ReadHeaderTimeout != 5*time.Second || server.ReadTimeout != 10*time.Second ||
		server.WriteTimeout != 30*time.Second || server.IdleTimeout != time.Minute {
		t.Errorf("the server's bounds are %+v", server)
	}
	h := build(t, func(p *plan) { p.headerTime = 300 * time.Millisecond })
	var conns []net.Conn
	for range 100 {
		conn := h.dial()
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nX-A: ")
		conns = append(conns, conn)
	}
	if got := h.ask("POST", textPath, textBody); got.status != http.StatusOK {
		t.Errorf("a healthy client: %d", got.status)
	}
	for _, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		// a reset means that it was closed before a busy machine read its bytes
		if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("a dripping connection was left open: %v", err)
		}
	}
}

// A slow body ends with 408, and never reaches upstream.
func TestSlowBody(t *testing.T) {
	parallel(t)
	h := build(t)
	h.gateway.SetSlowStart(200 * time.Millisecond)
	head, body, _ := strings.Cut(h.post(), "\r\n\r\n")
	got := h.rawAnswer(head + "\r\n\r\n" + body[:10])
	got.wants(t, 408, "inspect/slow", "RequestTimeOut")
	if n := len(h.sim.Requests()); n != 0 {
		t.Errorf("%d requests reached the service", n)
	}
	if record := h.records.await(t, 1)[0]; record.Status != 408 || record.BytesIn != 10 {
		t.Errorf("record %+v", record)
	}
}

// A client that leaves inside its request body gets no answer, costs nothing, and leaves nothing behind.
func TestGoneInsideTheBody(t *testing.T) {
	h := build(t)
	conn := h.dial()
	text := h.post()
	_, _ = io.WriteString(conn, text[:len(text)-10])
	_ = conn.Close()
	if record := h.records.await(t, 1)[0]; record.Refusal != "inspect/body" || record.UpstreamStatus != 0 {
		t.Errorf("record %+v", record)
	}
	if n := len(h.sim.Requests()); n != 0 {
		t.Errorf("%d requests reached the service", n)
	}
}

// A client that closes its sending half gets its answer.
func TestHalfClose(t *testing.T) {
	h := build(t)
	h.sim.SetFault(simulator.Fault{Stall: "before"})
	conn := h.dial()
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, h.post())
	_ = conn.CloseWrite()
	if err := h.sim.AwaitStalled(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	h.sim.Release()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK || err != nil || !strings.Contains(string(body), "request_id") {
		t.Errorf("%d %s %v", resp.StatusCode, body, err)
	}
}

// A client without power is found by keep-alive probes; a test can only check that the listener enables them.
func TestListenerProbes(t *testing.T) {
	l, err := wire.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	dialed, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dialed.Close() }()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if idle, interval, count := probes(t, conn.(interface{ NetConn() net.Conn }).NetConn().(*net.TCPConn)); idle+interval*count > 60 {
		t.Errorf("a dead client is found after %d s + %d × %d s", idle, count, interval)
	}
}

// A client's clock is never used.
func TestClientsClock(t *testing.T) {
	h := build(t)
	if got := h.ask("POST", textPath, textBody, "Date", "Thu, 01 Jan 1970 00:00:00 GMT", "If-Modified-Since",
		"x"); got.status != http.StatusOK {
		t.Errorf("%d", got.status)
	}
	if record := h.records.await(t, 1)[0]; time.Since(record.Time) > time.Minute {
		t.Errorf("record of %v", record.Time)
	}
}

// If a client leaves while upstream is silent, the drain has its own bound, not that of silence; that is no refusal,
// and the usage so far is charged.
func TestGoneWhileUpstreamIsSilent(t *testing.T) {
	frames := make(stream)
	h := build(t, func(p *plan) { p.upstream = frames })
	h.gateway.SetDrainTime(50 * time.Millisecond)
	defer close(frames)
	ctx, leave := context.WithCancel(context.Background())
	resp, err := h.client.Do(h.request("POST", textPath, textBody, "X-Service-SSE", "enable").WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	frames <- 7
	if _, err := bufio.NewReader(resp.Body).ReadString('7'); err != nil {
		t.Fatal(err)
	}
	leave()
	_ = resp.Body.Close()
	r := h.records.await(t, 1)[0] // within 20 s; the bound of silence is 300 s
	if r.Status != 499 || r.Refusal != "" || r.Cost.Amounts[limit.Tokens] < 12 || r.Cost.Flag != "estimated" {
		t.Errorf("status %d, refusal %q, charged %+v", r.Status, r.Refusal, r.Cost)
	}
}
