package gateway_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/gateway/simulator"
)

// early is a request that is answered before its body: everything of it up to the framing.
type early struct {
	name, start string
	status      int
}

// framing announces a body, and sends nothing or only a part of it.
type framing struct{ name, lines, part string }

var framings = []framing{
	{"length", "Content-Length: 9\r\n", ""},
	{"length, a part", "Content-Length: 9\r\n", "{"},
	{"length, continue", "Expect: 100-continue\r\nContent-Length: 9\r\n", ""},
	{"chunks", "Transfer-Encoding: chunked\r\n", "5\r\nabc"},
	{"chunks, continue", "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n", ""},
}

// line starts a raw request; more are whole header lines.
func line(method, path, key string, more ...string) string {
	return method + " " + path + " HTTP/1.1\r\nHost: sluice\r\nAuthorization: Bearer " + key + "\r\n" + lines(more)
}

// endOf sends a request, reads its answer and waits until the gateway closes. An open connection is an error: the client
// never closes first.
func (h *harness) endOf(text string) (status int, err error) {
	conn, err := net.Dial("tcp", h.address)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, text); err != nil {
		return 0, err
	}
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second)) // ends a hang
	from := bufio.NewReader(conn)
	method, _, _ := strings.Cut(text, " ")
	answer, err := http.ReadResponse(from, &http.Request{Method: method})
	if err != nil {
		return 0, fmt.Errorf("no answer: %w", err)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return answer.StatusCode, err
	}
	if rest, err := io.ReadAll(from); err != nil || len(rest) > 0 {
		return answer.StatusCode, fmt.Errorf("the connection is open after the answer: %q %w", rest, err)
	}
	return answer.StatusCode, nil
}

// endAll sends each request in each of the framings, all at once.
func (h *harness) endAll(requests []early, framed []framing) {
	h.Helper()
	var all sync.WaitGroup
	for _, request := range requests {
		for _, f := range framed {
			all.Go(func() {
				status, err := h.endOf(request.start + f.lines + "\r\n" + f.part)
				if err != nil || status != request.status {
					h.Errorf("%s, %s: %d %v, want %d and the end of the connection", request.name, f.name, status, err, request.status)
				}
			})
		}
	}
	all.Wait()
}

// Every answer that is sent before the body has arrived reaches its client and ends the connection, even if the body never
// arrives.
func TestEarlyAnswersEnd(t *testing.T) {
	parallel(t)
	narrow := mint(t)
	h := build(t, func(p *plan) {
		p.readTime = time.Hour // the gateway itself ends the connections
		p.teams = "  - id: narrow\n    endpoints: [text]\n    concurrent: 1\n    keys:\n" + narrow.Lines()
	})
	h.gateway.SetLingerTime(50 * time.Millisecond)
	task := h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable").member(t, "output", "task_id")
	h.sim.SetFault(simulator.Fault{On: simulator.EndpointText, Stall: "before"})
	running := make(chan int, 1)
	go func() {
		running <- h.ask("POST", textPath, textBody, "Authorization", "Bearer "+narrow.Reveal()).status
	}()
	if err := h.sim.AwaitStalled(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	key, media := h.keys["search"], "Content-Type: application/json"
	h.endAll([]early{
		{"no path", line("POST", "/x", key), 404},
		{"wrong method", line("GET", textPath, key), 405},
		{"HEAD", line("HEAD", tasksPath, key), 405},
		{"CONNECT", "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n", 405},
		{"key", line("POST", textPath, "wrong", media), 401},
		{"endpoint", line("POST", multimodalPath, narrow.Reveal(), media), 403},
		{"media type", line("POST", textPath, key, "Content-Type: text/plain"), 415},
		{"concurrent", line("POST", textPath, narrow.Reveal(), media), 429},
		{"list", line("GET", tasksPath, key), 200},
		{"usage", line("GET", "/sluice/v1/usage", key), 200},
		{"poll", line("GET", tasksPath+"/"+task, key), 200},
		{"absent task", line("GET", tasksPath+"/a1", key), 404},
		{"cancel", line("POST", tasksPath+"/a1/cancel", key), 404},
	}, framings)
	h.sim.Release()
	if status := <-running; status != http.StatusOK {
		t.Errorf("the request that ran was answered %d", status)
	}
}

// A body of any permitted length fits into the smallest permitted budget, also if its length is not declared.
func TestBodiesFitIntoTheSmallestBudget(t *testing.T) {
	const most = 1_000_000
	h := build(t, func(p *plan) { p.config.MaxBody, p.config.BodyBudget, p.sim.KeepBody = most, 2*most, -1 })
	padding := len(textBody) - len("rivers")
	for _, n := range []int{most / 2, most * 3 / 5, most - 1, most, most + 1} {
		for _, declared := range []bool{true, false} {
			r := h.request("POST", textPath, strings.Replace(textBody, "rivers", strings.Repeat("x", n-padding), 1))
			if !declared {
				r.ContentLength = -1
			}
			if got := h.send(r); (got.status == http.StatusOK) != (n <= most) || n > most && got.status != http.StatusRequestEntityTooLarge {
				t.Errorf("%d bytes, declared %v: %d %s", n, declared, got.status, got.body)
			}
		}
	}
	h.records.await(t, 10) // a client has its answer before the request ends
	if n := h.gateway.BodiesInMemory(); n != 0 {
		t.Errorf("%d bytes are held", n)
	}
}

// The same for requests refused by their size, while the gateway stops, and by net/http itself.
func TestEarlyRefusalsEnd(t *testing.T) {
	parallel(t)
	h := build(t, func(p *plan) { p.config.MaxBody, p.readTime = 8, 50*time.Millisecond })
	h.gateway.SetLingerTime(50 * time.Millisecond)
	text := line("POST", textPath, h.keys["search"], "Content-Type: application/json")
	h.endAll([]early{{"size", text, 413}}, framings[:3])
	h.endAll([]early{{"expectation", text + "Expect: 200-maybe\r\n", 417}}, []framing{framings[0], framings[1], framings[3]})
	h.gateway.BeginStop()
	h.endAll([]early{{"stopping", text, 503}}, framings)
}

// The answer does not wait for the body.
func TestAnAnswerDoesNotWaitForABody(t *testing.T) {
	parallel(t)
	h := build(t)
	h.gateway.SetLingerTime(time.Hour)
	for _, framed := range framings {
		if got := h.rawAnswer(line("GET", tasksPath, h.keys["search"]) + framed.lines + "\r\n" + framed.part); got.err != nil ||
			got.status != http.StatusOK {
			t.Errorf("%s: %d %v", framed.name, got.status, got.err)
		}
	}
}

// A refused request holds no memory while the rest of its body is dropped.
func TestARefusedBodyHoldsNothing(t *testing.T) {
	parallel(t)
	h := build(t, limited("concurrent: 1"), func(p *plan) { p.config.MaxBody = 8 })
	h.gateway.SetLingerTime(time.Hour)
	conn := h.dial()
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, line("POST", textPath, h.keys["search"], "Content-Type: application/json", "Transfer-Encoding: chunked")+
		"\r\n9\r\n{\"a\":\"bc\"")
	refused, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || refused.StatusCode != http.StatusRequestEntityTooLarge {
		t.Fatalf("answered %+v %v, want 413", refused, err)
	}
	h.ask("POST", textPath, "{}").wants(t, 400, "inspect/rules", "InvalidParameter")
}

// A fault of the gateway, and an answer that is cut, end the connection as well.
func TestPanicsBeforeTheBodyEnd(t *testing.T) {
	parallel(t)
	h := build(t, func(p *plan) {
		p.readTime = time.Hour
		p.wrap = func(next http.Handler) http.Handler { return failing("route", next) }
	})
	h.gateway.SetLingerTime(50 * time.Millisecond)
	h.endAll([]early{{"panic", line("POST", textPath, h.keys["search"]), 500}}, framings)

	h = build(t, func(p *plan) {
		p.readTime = 50 * time.Millisecond
		p.wrap = func(http.Handler) http.Handler {
			return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		}
	})
	for _, framed := range framings {
		if _, err := h.endOf(line("POST", textPath, "x") + framed.lines + "\r\n" + framed.part); err == nil ||
			errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v, want the end of the connection without an answer", framed.name, err)
		}
	}
}

// Bodies are read into buffers that other requests had. Each arrives as it was sent, also beside requests that end early: those
// that the service answers before it has read them, that the rules refuse, and whose client leaves. All buffers are returned.
func TestBodiesInLentBuffers(t *testing.T) {
	h := build(t, func(p *plan) { p.upstream = http.HandlerFunc(checkLetters) })
	var all sync.WaitGroup
	for client := range 4 {
		all.Go(func() {
			for round := range 6 {
				letter := string(rune('a' + client*6 + round))
				switch round % 3 {
				case 0:
					h.leaveMidway(lettersOf(letter, 2<<20))
				case 1: // answered early, or refused
					h.ask("POST", textPath, lettersOf("early "+letter, 3<<20))
					h.ask("POST", textPath, lettersOf(letter, 2<<20)+"}").wants(t, 400, "inspect/body", "InvalidParameter")
				}
				if got := h.ask("POST", textPath, lettersOf(letter, (2+round%2)<<20)); got.status != http.StatusOK {
					t.Errorf("%s: answered %d %s", letter, got.status, got.body)
				}
			}
		})
	}
	all.Wait()
	h.records.await(t, 4*(2+2*2+6))
	if lent, held := h.gateway.BuffersLent(), h.gateway.BodiesInMemory(); lent != 0 || held != 0 {
		t.Errorf("%d bytes are lent and %d held at the end", lent, held)
	}
}

func lettersOf(letter string, size int) string {
	return strings.Replace(textBody, "rivers", strings.Repeat(letter, size/len(letter)), 1)
}

// checkLetters answers 200 to a body that is the letters of one request.
func checkLetters(w http.ResponseWriter, r *http.Request) {
	first := make([]byte, 1<<10)
	if n, err := io.ReadFull(r.Body, first); err != nil || bytes.Contains(first[:n], []byte("early")) {
		http.Error(w, `{"code":"InternalError","message":"early"}`, http.StatusInternalServerError)
		return
	}
	rest, err := io.ReadAll(r.Body)
	if after := bytes.TrimLeft(rest, string(first[len(first)-1:])); err != nil || !strings.HasSuffix(textBody, string(after)) {
		http.Error(w, `{"code":"InternalError","message":"mixed"}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}

// leaveMidway sends half of a body and leaves.
func (h *harness) leaveMidway(body string) {
	conn, err := net.Dial("tcp", h.address)
	if err != nil {
		h.Error(err)
		return
	}
	_, _ = fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n%s", line("POST", textPath, h.keys["search"], "Content-Type: application/json"),
		len(body), body[:len(body)/2])
	_ = conn.Close()
}
