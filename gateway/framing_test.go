package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Raw requests: the limits of framing, request line and header. Refusals by net/http itself keep its form.

// post makes a raw text request; extra are whole header lines.
func (h *harness) post(extra ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: sluice\r\nAuthorization: Bearer %s\r\nContent-Type: "+
		"application/json\r\n%sContent-Length: %d\r\n\r\n%s",
		textPath, h.keys["search"], lines(extra), len(textBody), textBody)
}

func lines(extra []string) string {
	text := ""
	for _, line := range extra {
		text += line + "\r\n"
	}
	return text
}

func TestRawFraming(t *testing.T) {
	parallel(t)
	h := build(t)
	key := "Authorization: Bearer " + h.keys["search"] + "\r\nContent-Type: application/json\r\n"
	start := "POST " + textPath + " HTTP/1.1\r\nHost: sluice\r\n" + key
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(textBody), textBody)
	for _, tt := range []struct {
		name, text string
		status     int
		served     int // requests that reach the service
	}{
		{"A01 length and chunks", start + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, 200, 1},
		{"A02 one length twice", strings.Replace(h.post(), "Content-Length:",
			fmt.Sprintf("Content-Length: %d\r\nContent-Length:", len(textBody)), 1), 200, 1},
		{"A07 folded line", h.post("X-A: b\r\n c"), 200, 1},
		{"A08 bare LF", strings.ReplaceAll(h.post(), "\r\n", "\n"), 200, 1},
		{"A09 version 1.0 with chunks", strings.Replace(start, "HTTP/1.1", "HTTP/1.0", 1) + "Transfer-Encoding: chunked\r\n\r\n" + chunked, 400,
			0},
		{"A16 another host", strings.Replace(h.post(), "Host: sluice", "Host: evil.example", 1), 200, 1},
		{"A29 both spellings", h.post("X-Service-SSE: disable", "X-Service-Sse: disable"), 200, 1},
		{"A03 two lengths", start + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400, 0},
		{"A03 list of lengths", start + "Content-Length: 2, 2\r\n\r\n{}", 400, 0},
		{"A03 signed length", start + "Content-Length: +2\r\n\r\n{}", 400, 0},
		{"A03 hex length", start + "Content-Length: 0x2\r\n\r\n{}", 400, 0},
		{"A03 empty length", start + "Content-Length: \r\n\r\n{}", 400, 0},
		{"A03 negative length", start + "Content-Length: -1\r\n\r\n{}", 400, 0},
		{"A03 length of 2^63", start + "Content-Length: 9223372036854775808\r\n\r\n{}", 400, 0},
		{"A04 unknown encoding", start + "Transfer-Encoding: xchunked\r\n\r\n" + chunked, 501, 0},
		{"A04 identity", start + "Transfer-Encoding: identity\r\n\r\n" + chunked, 501, 0},
		{"A04 chunked twice", start + "Transfer-Encoding: chunked, chunked\r\n\r\n" + chunked, 501, 0},
		{"A04 gzip, chunked", start + "Transfer-Encoding: gzip, chunked\r\n\r\n" + chunked, 501, 0},
		{"A06 control byte in an encoding", start + "Transfer-Encoding: \x0bchunked\r\n\r\n" + chunked, 400, 0},
		{"A06 NUL in a value", start + "X-A: a\x00b\r\nContent-Length: 2\r\n\r\n{}", 400, 0},
		{"A06 blank before the colon", start + "X-A : b\r\nContent-Length: 2\r\n\r\n{}", 400, 0},
		{"A06 no colon", start + "XA\r\nContent-Length: 2\r\n\r\n{}", 400, 0},
		{"A06 empty name", start + ": b\r\nContent-Length: 2\r\n\r\n{}", 400, 0},
		{"A11 chunk extension of 1 MiB", start + "Transfer-Encoding: chunked\r\n\r\n2;" + strings.Repeat("x", 1<<20) + "\r\n{}\r\n0\r\n\r\n",
			400, 0},
		{"A14 unknown expectation", start + "Expect: 200-maybe\r\nContent-Length: 2\r\n\r\n{}", 417, 0},
		{"A17 absolute form", strings.Replace(h.post(), "POST /", "POST http://evil.example/", 1), 200, 1},
		{"A18 CONNECT to a host", "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", 405, 0},
		{"A18 CONNECT to a path", "CONNECT /x HTTP/1.1\r\nHost: x\r\n" + key + "\r\n", 405, 0},
		{"A21 OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 404, 0},
		{"A21 GET *", "GET * HTTP/1.1\r\nHost: x\r\n" + key + "\r\n", 404, 0},
		{"A22 version 1.32", "GET / HTTP/1.32\r\nHost: x\r\n\r\n", 400, 0},
		{"A27 header block over 32 KiB", start + "X-A: " + strings.Repeat("a", 33<<10) + "\r\nContent-Length: 2\r\n\r\n{}", 431, 0},
		{"A27 a thousand headers of 40 bytes", start + strings.Repeat("X-A: "+strings.Repeat("a", 33)+"\r\n", 1000) + "\r\n", 431, 0},
		{"A91 method in lower case", strings.Replace(h.post(), "POST", "post", 1), 405, 0},
		{"broken chunk", start + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", 400, 0},
	} {
		before := len(h.sim.Requests())
		got := h.rawAnswer(tt.text)
		if got.err != nil || got.status != tt.status {
			t.Errorf("%s: %d %v, want %d", tt.name, got.status, got.err, tt.status)
		}
		if served := len(h.sim.Requests()) - before; served != tt.served {
			t.Errorf("%s: %d requests reached the service, want %d", tt.name, served, tt.served)
		}
	}
	for _, seen := range h.sim.Requests() {
		if string(seen.Body) != textBody || seen.Path != textPath || seen.Header.Get("Transfer-Encoding") != "" ||
			strings.Contains(seen.Host, "evil") {
			t.Errorf("the service saw %s %s of %s with %q", seen.Method, seen.Path, seen.Host, seen.Body)
		}
	}
}

func TestPriorKnowledgeIsRefusedAndClosed(t *testing.T) {
	h := build(t)
	if got := h.raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 20*time.Second); !strings.HasPrefix(got, "HTTP/1.1 405 ") ||
		!strings.Contains(got, "Connection: close") {
		t.Errorf("answered %q", got)
	}
}

func TestPipelinedRequestsAreJudgedOneByOne(t *testing.T) {
	h := build(t)
	got := h.raw(h.post()+strings.Replace(h.post(), "/api/v1/", "/api/v0/", 1)+"GET / HTTP/9\r\n\r\n", 20*time.Second)
	if n := strings.Count(got, "HTTP/1.1 "); n < 2 || !strings.HasPrefix(got, "HTTP/1.1 200") ||
		!strings.Contains(got, "HTTP/1.1 404 Not Found") {
		t.Errorf("answered %q", got)
	}
	if n := len(h.sim.Requests()); n != 1 {
		t.Errorf("%d requests reached the service", n)
	}
}

func TestTrailersAreDropped(t *testing.T) {
	h := build(t)
	text := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nTrailer: "+
		"Authorization\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nAuthorization: Bearer evil\r\n\r\n",
		textPath, h.keys["search"], len(textBody), textBody)
	if got := h.rawAnswer(text); got.status != http.StatusOK {
		t.Fatalf("answered %d %s", got.status, got.body)
	}
	if seen := h.sim.Requests()[0]; seen.Header.Get("Trailer") != "" || seen.Header.Get("Authorization") != "Bearer "+upstreamKey {
		t.Errorf("the service saw %v", seen.Header)
	}
}

// A client that waits for 100 Continue gets it only if its request is admitted, and a refusal without sending.
func TestContinueOnlyForWhatMayComeIn(t *testing.T) {
	parallel(t)
	h := build(t)
	for _, tt := range []struct {
		name, change, to string
		want             int
	}{
		{"wrong key", h.keys["search"], "wrong", 401},
		{"too large", "Content-Length: ", "Content-Length: 9999999", 413},
		{"wrong type", "application/json", "text/plain", 415},
	} {
		head, _, _ := strings.Cut(strings.Replace(h.post("Expect: 100-continue"), tt.change, tt.to, 1), "\r\n\r\n")
		if got := h.rawAnswer(head + "\r\n\r\n"); got.status != tt.want {
			t.Errorf("%s: %d %q %v", tt.name, got.status, got.body, got.err)
		}
	}
	text := h.post("Expect: 100-continue", "Connection: close")
	if got := h.raw(text, 20*time.Second); !strings.HasPrefix(got, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK") {
		t.Errorf("a good request: %q", got)
	}
	if seen := h.sim.Requests()[0]; seen.Header.Get("Expect") != "" {
		t.Errorf("the expectation was passed on: %v", seen.Header)
	}
}

func TestBodyOfAPollIsIgnored(t *testing.T) {
	h := build(t)
	id := h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable").member(t, "output", "task_id")
	start := line("GET", tasksPath+"/"+id, h.keys["search"])
	hidden := "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n" // in a body, so no request
	for _, poll := range []struct{ name, head, body string }{
		{"length", start + "Content-Length: 2\r\n\r\n", "{}"},
		{"chunks", start + "Transfer-Encoding: chunked\r\n\r\n", "2\r\n{}\r\n0\r\n\r\n"},
		{"a request inside", start + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(hidden)), hidden},
	} {
		last := strings.Replace(start, "\r\n", "\r\nConnection: close\r\n", 1) + "\r\n"
		if got := h.raw(poll.head+poll.body+poll.head+poll.body+last, 10*time.Second); strings.Count(got, "HTTP/1.1 200 OK") != 3 ||
			strings.Count(got, "HTTP/1.1 ") != 3 {
			t.Errorf("%s: answered %q", poll.name, got)
		}
		if got := h.late(poll.head, poll.body+last); strings.Count(got, "HTTP/1.1 200 OK") != 1 || strings.Count(got, "HTTP/1.1 ") != 1 {
			t.Errorf("%s, after its answer: answered %q", poll.name, got)
		}
	}
	for _, seen := range h.sim.Requests()[1:] {
		if seen.BodySize != 0 || seen.Header.Get("Content-Length") != "" {
			t.Errorf("the service saw a body of %d bytes, %v", seen.BodySize, seen.Header)
		}
	}
}

// late sends a request's head, and the rest after the answer; it returns the bytes after that answer.
func (h *harness) late(head, more string) string {
	h.Helper()
	conn := h.dial()
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, head)
	from := bufio.NewReader(conn)
	answer, err := http.ReadResponse(from, nil)
	if err != nil {
		return err.Error()
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_, _ = io.WriteString(conn, more)
	rest, _ := io.ReadAll(from)
	return string(rest)
}

// A refusal is readable also for a client that is still sending, however it sends.
func TestRefusalOfALargeBodyCanBeRead(t *testing.T) {
	h := build(t)
	for _, length := range []int{1 << 10, 4 << 20} {
		body := strings.Repeat("x", length)
		h.ask("POST", textPath, body, "Authorization", "Bearer wrong").wants(t, 401, "authenticate/key", "InvalidApiKey")
		h.ask("POST", textPath, body, "Content-Type", "text/plain").wants(t, 415, "inspect/media", "InvalidParameter")
	}
	if got := h.ask("POST", textPath, textBody); got.status != http.StatusOK {
		t.Errorf("the next request: %d", got.status)
	}
}
