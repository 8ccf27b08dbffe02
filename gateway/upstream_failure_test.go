package gateway_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

// Upstreams that fail.

// listener is an upstream of raw bytes: each connection is handed to serve.
func listener(t *testing.T, serve func(net.Conn)) (address string, accepted *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted = new(atomic.Int32)
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			open.Go(func() { serve(conn); _ = conn.Close() })
		}
	})
	t.Cleanup(func() { _ = l.Close(); open.Wait() })
	return l.Addr().String(), accepted
}

// takeRequest reads a request and its body; false at the connection's end.
func takeRequest(in *bufio.Reader) bool {
	r, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, r.Body)
	return true
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // the port has no listener now
	h := build(t, func(p *plan) { p.address = "http://" + l.Addr().String() })
	got := h.ask("POST", textPath, textBody)
	got.wants(t, 502, "forward/unreachable", "InternalError")
	if strings.Contains(got.body, "127.0.0.1") || strings.Contains(got.body, "refused") {
		t.Errorf("H10: the client reads %s", got.body)
	}
	named := build(t, func(p *plan) { p.address = "http://no-such-host.invalid" })
	named.ask("POST", textPath, textBody).wants(t, 502, "forward/unreachable", "InternalError")
}

// A connection that upstream closed unnoticed is detected before a byte leaves.
func TestClosedIdleConnections(t *testing.T) {
	var executed atomic.Int32
	closed := make(chan struct{}, 100)
	address, accepted := listener(t, func(conn net.Conn) { // one request for each connection, though it promises keep-alive
		defer func() { _ = conn.Close(); closed <- struct{}{} }()
		if takeRequest(bufio.NewReader(conn)) {
			executed.Add(1)
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
		}
	})
	h := build(t, func(p *plan) { p.address = "http://" + address })
	for i := range 100 {
		h.records.await(t, i) // the connection waits for its next exchange before its request is recorded
		if got := h.ask("POST", textPath, textBody); got.status != http.StatusOK {
			t.Errorf("%d %s", got.status, got.body)
		}
		<-closed // if upstream closes only while the next request is on its way, that cannot be seen
	}
	if executed.Load() != 100 || accepted.Load() != 100 {
		t.Errorf("%d executions on %d connections for 100 requests", executed.Load(), accepted.Load())
	}
}

func TestSilence(t *testing.T) {
	parallel(t)
	h := build(t, func(p *plan) { p.config.HeaderTimeout = 100 * time.Millisecond })
	h.sim.SetFault(simulator.Fault{Stall: "before"})
	h.ask("POST", textPath, textBody).wants(t, 504, "forward/silent", "RequestTimeOut")
	h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable").wants(t, 504, "forward/silent", "RequestTimeOut")
	if text, image := h.sim.Count(simulator.EndpointText), h.sim.Count(simulator.EndpointImage); text != 1 || image != 1 {
		t.Errorf("sent %d and %d times", text, image)
	}
	h.sim.Release()
}

// An answer that stalls or breaks off is a cut to the client, never a whole answer.
func TestBrokenOffAnswersAreCuts(t *testing.T) {
	parallel(t)
	silent, loud := build(t, func(p *plan) { p.config.IdleTimeout = 100 * time.Millisecond }), build(t)
	for _, tt := range []struct {
		name    string
		fault   simulator.Fault
		headers []string
		refusal string
	}{
		{"stalls behind the header", simulator.Fault{Stall: "headers"}, nil, "forward/silent"},
		{"stalls in the body", simulator.Fault{Stall: "body", After: 1}, nil, "forward/silent"},
		{"stalls in a stream", simulator.Fault{Stall: "body", After: 2}, []string{"X-Service-SSE", "enable"}, "forward/silent"},
		{"closes in the body", simulator.Fault{Cut: "close", After: 1}, nil, "forward/answer"},
		{"resets in the body", simulator.Fault{Cut: "reset", After: 1}, nil, "forward/answer"},
		{"closes in a stream", simulator.Fault{Cut: "close", After: 2}, []string{"X-Service-SSE", "enable"}, "forward/answer"},
		{"resets in a stream", simulator.Fault{Cut: "reset", After: 2}, []string{"X-Service-SSE", "enable"}, "forward/answer"},
	} {
		h := loud // silence is no fault here, however slow the machine is
		if tt.fault.Stall != "" {
			h = silent
		}
		n := len(h.records.await(t, 0))
		h.sim.SetFault(tt.fault)
		resp, err := h.client.Do(h.request("POST", textPath, textBody, tt.headers...))
		if err == nil { // net/http may hold a short body back until it is cut with its header
			var body []byte
			body, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err == nil {
				t.Errorf("%s: the client has a whole answer: %d %s", tt.name, resp.StatusCode, body)
			}
		}
		if record := h.records.await(t, n+1)[n]; record.Refusal != tt.refusal {
			t.Errorf("%s: record %+v", tt.name, record)
		}
		h.sim.Release()
	}
}

// Upstream's own refusals pass unchanged.
func TestUpstreamsRefusalsPass(t *testing.T) {
	h := build(t)
	for _, tt := range []struct {
		status int
		code   string
	}{{429, "Throttling.RateQuota"}, {503, "ModelUnavailable"}, {400, "DataInspectionFailed"}, {403, "AccessDenied"}, {500, "InternalError"},
		{404, "ModelNotFound"}} {
		h.sim.SetFault(simulator.Fault{Error: &simulator.FaultError{Status: tt.status, Code: tt.code}, RetryAfter: "7"})
		got := h.ask("POST", textPath, textBody)
		if got.status != tt.status || got.header.Get("Retry-After") != "7" || got.header.Get("Sluice-Refusal") != "" ||
			!strings.HasPrefix(got.body, `{"code":"`+tt.code+`"`) {
			t.Errorf("%d %v %s", got.status, got.header, got.body)
		}
	}
}

// G4: a POST is never sent again once a byte has left, whatever goes wrong.
func TestNothingIsSentTwice(t *testing.T) {
	parallel(t)
	faults := map[string]simulator.Fault{
		"none": {}, "drop": {Drop: "close"}, "drop by reset": {Drop: "reset"}, "cut": {Cut: "close", After: 1},
		"cut by reset": {Cut: "reset", After: 1}, "status 500": {Error: &simulator.FaultError{Status: 500}},
		"status 503": {Error: &simulator.FaultError{Status: 503}}, "redirect": {Redirect: "/api/v1/elsewhere"}, "upgrade": {Upgrade: true},
		"gzip": {Gzip: true}, "not JSON": {Body: new("<html>")},
		"empty": {Body: new("")}, "other task": {TaskID: "another"}, "no usage": {NoUsage: true}, "endless": {Endless: true, PadBytes: 64 << 10},
		"many 103": {Informational: 100}, "stall": {Stall: "before"},
	}
	requests := []struct{ endpoint, path, body, header, value string }{
		{simulator.EndpointText, textPath, textBody, "X-A", "a"}, {simulator.EndpointText, textPath, textBody, "X-Service-SSE", "enable"},
		{simulator.EndpointMultimodal, multimodalPath, syncBody, "Idempotency-Key", "k"},
		{simulator.EndpointImage, imagePath, imageBody, "X-Service-Async", "enable"},
		{simulator.EndpointSynthesis, olderPath, olderBody, "X-Service-Async", "enable"},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			h := build(t, func(p *plan) {
				if fault.Stall != "" { // others end by themselves, however slow the machine is
					p.config.HeaderTimeout, p.config.IdleTimeout = 2*time.Second, 2*time.Second
				}
			})
			for _, r := range requests {
				h.sim.Reset()
				h.sim.SetFault(fault)
				request := h.request("POST", r.path, r.body, r.header, r.value)
				request.GetBody = nil // or the client itself repeats a request with an Idempotency-Key
				resp, err := h.client.Do(request)
				if err == nil {
					_, _ = io.CopyN(io.Discard, resp.Body, 1<<20)
					_ = resp.Body.Close()
				}
				if n := h.sim.Count(r.endpoint); n != 1 {
					t.Errorf("%s: sent %d times", r.path, n)
				}
			}
			h.sim.Release()
		})
	}
}

// A creation's answer is whole and claimed before its first byte leaves, or it is a refusal.
func TestCreationThatBreaks(t *testing.T) {
	h := build(t)
	for name, fault := range map[string]simulator.Fault{
		"dropped": {Drop: "reset"}, "cut": {Cut: "close", After: 1}, "not JSON": {Body: new("<html>")}, "empty": {Body: new("{}")},
		"endless": {Endless: true, PadBytes: 5 << 20},
	} {
		h.sim.SetFault(fault)
		got := h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable")
		if got.status != 502 || got.header.Get("Sluice-Refusal") != "forward/answer" {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

// storyBody creates a task whose answer is a stream.
const storyBody = `{"model":"gen2.6-image","input":{"messages":[{"role":"user","content":[{"text":"A story in pictures"}]}]},` +
	`"parameters":{"enable_interleave":true,"stream":true,"max_images":2}}`

// A task that arrives as a stream is claimed by its first frame.
func TestStreamedCreationIsClaimed(t *testing.T) {
	h := build(t)
	got := h.ask("POST", imagePath, storyBody, "X-Service-Async", "enable", "X-Service-SSE", "enable")
	if got.status != http.StatusOK || !strings.HasPrefix(got.body, "id:1\n") {
		t.Fatalf("%d %.200s", got.status, got.body)
	}
	record := h.records.await(t, 1)[0]
	if record.Task == "" || !strings.Contains(got.body, record.Task) {
		t.Fatalf("record %+v", record)
	}
	if poll := h.ask("GET", tasksPath+"/"+record.Task, ""); poll.status != http.StatusOK {
		t.Errorf("the task's poll: %d %s", poll.status, poll.body)
	}
}

// Without a valid certificate not a byte of a request leaves.
func TestWrongCertificate(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	h := build(t, func(p *plan) { p.address = server.URL })
	h.ask("POST", textPath, textBody).wants(t, 502, "forward/unreachable", "InternalError")
	if requests.Load() != 0 {
		t.Error("a request was sent to a host without a trusted certificate")
	}
}

// Over TLS, with a base address that has a path, small and large bodies arrive whole on one connection.
func TestUpstreamOverTLS(t *testing.T) {
	seen := make(chan string, 4)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen <- fmt.Sprint(r.Proto, " ", r.URL.Path, " ", r.RemoteAddr, " ", hexSHA(string(body)))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	h := build(t, func(p *plan) { p.address = server.URL + "/base" })
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	h.gateway.TrustUpstream(roots)
	peer := ""
	for i, body := range []string{textBody, strings.Replace(textBody, "rivers", strings.Repeat("r", 5<<20), 1), textBody} {
		if got := h.ask("POST", textPath, body); got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		words := strings.Fields(<-seen)
		if words[0] != "HTTP/1.1" || words[1] != "/base"+textPath || words[3] != hexSHA(body) || i == 1 && words[2] != peer {
			t.Errorf("request %d arrived as %v", i, words)
		}
		peer = words[2]
		h.records.await(t, i+1)
	}
}

// A redirect is neither followed nor passed on.
func TestRedirect(t *testing.T) {
	var trapped atomic.Int32
	trap := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { trapped.Add(1) }))
	t.Cleanup(trap.Close)
	h := build(t)
	h.sim.SetFault(simulator.Fault{Redirect: trap.URL})
	for _, got := range []reading{h.ask("POST", textPath, textBody), h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable")} {
		got.wants(t, 502, "forward/answer", "InternalError")
		if got.header.Get("Location") != "" || strings.Contains(got.body, trap.URL) {
			t.Errorf("the client sees %v %s", got.header, got.body)
		}
	}
	if trapped.Load() != 0 {
		t.Error("the redirect was followed")
	}
}

// Informational answers are dropped, up to a bound, and remove none of the gateway's headers.
func TestInformationalAnswers(t *testing.T) {
	h := build(t)
	h.sim.SetFault(simulator.Fault{Informational: 100})
	got := h.raw(h.post("Connection: close"), 20*time.Second)
	if strings.Contains(got, " 103 ") || !strings.HasPrefix(got, "HTTP/1.1 200 OK") || !strings.Contains(got, "Sluice-Request-Id: ") {
		t.Errorf("%.300q", got)
	}
	h.sim.SetFault(simulator.Fault{Upgrade: true})
	h.ask("POST", textPath, textBody).wants(t, 502, "forward/answer", "InternalError")
}

// A flood of informational answers ends at the bound, not at the time for an answer.
func TestFloodOfInformationalAnswers(t *testing.T) {
	address, _ := listener(t, func(conn net.Conn) {
		for takeRequest(bufio.NewReader(conn)) {
			for {
				if _, err := io.WriteString(conn, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"); err != nil {
					return
				}
			}
		}
	})
	h := build(t, func(p *plan) { p.address = "http://" + address })
	h.ask("POST", textPath, textBody).wants(t, 502, "forward/answer", "InternalError")
	h.ask("POST", textPath, large(1<<20)).wants(t, 502, "forward/answer", "InternalError")
}

// Endless answers are bounded if they are read whole, and never held if they are passed on: a document, a stream,
// and the stream of a creation, which is claimed on its way.
func TestEndlessAnswers(t *testing.T) {
	h := build(t, func(p *plan) { p.sim.Running = time.Hour })
	id := h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable").member(t, "output", "task_id")
	h.sim.SetFault(simulator.Fault{Endless: true, PadBytes: 1 << 20})
	if got := h.ask("GET", tasksPath+"/"+id, ""); got.status != http.StatusOK || !strings.Contains(got.header.Get("Cache-Status"), "stale") {
		t.Errorf("an endless poll: %d %v", got.status, got.header)
	}
	for i, tt := range []struct {
		r    *http.Request
		most int64 // of 64 MiB; the heap also has the service's part of a stream
	}{
		{h.request("POST", textPath, textBody), 8 << 20},
		{h.request("POST", textPath, textBody, "X-Service-SSE", "enable"), 32 << 20},
		{h.request("POST", imagePath, storyBody, "X-Service-Async", "enable", "X-Service-SSE", "enable"), 32 << 20},
	} {
		h.sim.SetFault(simulator.Fault{Endless: true, PadBytes: 16 << 10})
		if passed, grown := h.grows(tt.r, 64<<20); passed < 64<<20 || grown > tt.most {
			t.Errorf("%s: %d bytes in passing left %d on the heap", tt.r.URL.Path, passed, grown)
		}
		h.records.await(t, i+3) // it has been drained
	}
	if record := h.records.await(t, 5)[4]; record.Task == "" {
		t.Errorf("the endless creation was not claimed: %+v", record)
	}
}

// grows passes bytes of an answer on and returns how many arrived, and how much the heap grew while the answer continued.
func (h *harness) grows(r *http.Request, size int64) (passed, grown int64) {
	h.Helper()
	before := live()
	resp, err := h.client.Do(r)
	if err != nil {
		h.Fatal(err)
	}
	passed, _ = io.CopyN(io.Discard, resp.Body, size)
	grown = live() - before
	_ = resp.Body.Close()
	return passed, grown
}

// live is the heap in use after a collection, in bytes; garbage does not count.
func live() int64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// An answer that cannot be decoded is refused, since its usage could not be read either.
func TestCompressedUnasked(t *testing.T) {
	h := build(t)
	h.sim.SetFault(simulator.Fault{Gzip: true})
	h.ask("POST", textPath, textBody, "Accept-Encoding", "gzip").wants(t, 502, "forward/answer", "InternalError")
}

// A connection is used again only if both sides agree on the end of the answer. An encoding in two headers counts as compressed,
// too, whichever is first.
func TestCompressedInTwoHeaders(t *testing.T) {
	for _, encodings := range [][]string{{"identity", "gzip"}, {"", "gzip"}, {"gzip", "identity"}, {"identity", "identity"}} {
		h := build(t, func(p *plan) {
			p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header()["Content-Encoding"], w.Header()["Content-Type"] = encodings, []string{"application/json"}
				_, _ = io.WriteString(w, "{}")
			})
		})
		got := h.ask("POST", textPath, textBody)
		if encodings[1] == "gzip" || encodings[0] == "gzip" {
			got.wants(t, 502, "forward/answer", "InternalError")
		} else if got.status != http.StatusOK {
			t.Errorf("%q: %d %s", encodings, got.status, got.body)
		}
	}
}

func TestConnectionsThatAreNotUsedAgain(t *testing.T) {
	ok := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for _, tt := range []struct {
		name, answer string
		conns        int32 // for two requests
	}{
		{"length", ok + "Content-Length: 2\r\n\r\n{}", 1},
		{"chunks", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 1},
		{"chunks with trailers", ok + "Trailer: Set-Cookie\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nSet-Cookie: a=b\r\n\r\n", 1},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", 1},
		{"until the end", ok + "\r\n{}", 2},
		{"close", ok + "Connection: close\r\nContent-Length: 2\r\n\r\n{}", 2},
		{"version 1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", 2},
		{"more than it said", ok + "Content-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			closes := strings.Contains(tt.name, "until") || strings.Contains(tt.name, "1.0")
			address, accepted := listener(t, func(conn net.Conn) {
				for in := bufio.NewReader(conn); takeRequest(in); {
					_, _ = io.WriteString(conn, tt.answer)
					if closes {
						return
					}
				}
			})
			h := build(t, func(p *plan) { p.address = "http://" + address })
			for range 2 {
				if got := h.ask("POST", textPath, textBody); got.status/100 != 2 || strings.Contains(got.body, "evil") || got.err != nil ||
					got.header.Get("Set-Cookie") != "" {
					t.Errorf("%d %q %v", got.status, got.body, got.err)
				}
			}
			if accepted.Load() != tt.conns {
				t.Errorf("%d connections for two requests, want %d", accepted.Load(), tt.conns)
			}
		})
	}
}

// Upstream may refuse a body before it has read it: its answer counts, whether it then closes with bytes of the body
// unread, or keeps the connection and reads no more. The connection is not used again.
func TestEarlyAnswerToALargeBody(t *testing.T) {
	text := `{"code":"BadRequest.TooLarge","message":"m"}`
	early := fmt.Sprintf("HTTP/1.1 413 Too Large\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
	for name, then := range map[string]func(io.Reader, <-chan struct{}){
		"reads on": func(body io.Reader, _ <-chan struct{}) { _, _ = io.CopyN(io.Discard, body, 1<<20) },
		"closes":   func(io.Reader, <-chan struct{}) {},
		"is still": func(_ io.Reader, done <-chan struct{}) { <-done },
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS %t", name, secure), func(t *testing.T) {
				done := make(chan struct{})
				h, accepted := upstreamOf(t, secure, func(conn net.Conn) {
					if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
						_, _ = io.WriteString(conn, early)
						then(r.Body, done)
					}
				})
				defer close(done)
				for range 3 {
					if got := h.ask("POST", textPath, large(8<<20)); got.status != http.StatusRequestEntityTooLarge ||
						got.header.Get("Sluice-Refusal") != "" || got.body != text {
						t.Errorf("%d %s", got.status, got.body)
					}
				}
				if accepted.Load() != 3 {
					t.Errorf("%d connections", accepted.Load())
				}
			})
		}
	}
}
