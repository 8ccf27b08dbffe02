package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/gateway/simulator"
	"sluice/policy/account"
)

// nowhere is the address of a service that cannot be reached.
const nowhere = "http://127.0.0.1:1/api/v1"

// saying is the address of a service that answers each request with these pieces, and closes the connection.
func saying(t *testing.T, pieces ...string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		for _, piece := range pieces {
			_, _ = io.WriteString(conn, piece)
			time.Sleep(time.Millisecond) // they should arrive apart
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/api/v1"
}

// A client to which no account did any work is told the longest wait that one asked for, whatever the last one says. An answer about the
// request itself has none.
func TestTheLongestWaitIsToldWithAnyRefusal(t *testing.T) {
	sse := []string{"X-Service-SSE", "enable"}
	for _, tt := range []struct {
		name    string
		last    simulator.FaultError // of b
		url     string               // of b; empty: the simulator
		headers []string
		status  int
		row     string // Sluice-Refusal
		wait    string // Retry-After, spread; empty: none
	}{
		{name: "its key", last: simulator.FaultError{Status: 401, Plain: true}, status: 502, row: "forward/key", wait: "40"},
		{name: "its bill", last: simulator.FaultError{Code: "Arrearage", Status: 400}, status: 400, wait: "40"},
		{name: "a bill under 429", last: simulator.FaultError{Code: "PostpaidBillOverdue"}, status: 429, wait: "40"},
		{name: "throttled, and it does not say", last: simulator.FaultError{Code: "Throttling"}, status: 429, wait: "40"},
		{name: "another 429", last: simulator.FaultError{Code: "Odd", Status: 429}, status: 429, wait: "40"},
		{name: "throttled in a stream", last: simulator.FaultError{Code: "Throttling"}, headers: sse, status: 200, wait: "40"},
		{name: "not reached", url: "nowhere", status: 502, row: "forward/unreachable", wait: "40"},
		{name: "a bad request", last: simulator.FaultError{Status: 400}, status: 400},
		{name: "no rights", last: simulator.FaultError{Status: 403}, status: 403},
		{name: "it failed", last: simulator.FaultError{Status: 500}, status: 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := "id: b"
			if tt.url != "" {
				b = "id: b, url: " + nowhere
			}
			h, _ := shared(t, []string{"id: a, weight: 1000", b})
			h.sim.SetFault(throttled("a", "40"), simulator.Fault{Account: "b", Error: &tt.last})
			got := h.ask("POST", textPath, textBody, tt.headers...)
			after := got.header.Get("Retry-After")
			if got.status != tt.status || got.header.Get("Sluice-Refusal") != tt.row {
				t.Errorf("%d %v %s", got.status, got.header, got.body)
			}
			if spread := tt.wait != "" && len(after) == 2 && after >= "40" && after <= "48"; after != tt.wait && !spread {
				t.Errorf("Retry-After %q, want %q", after, tt.wait)
			}
			if asked := h.served(); !strings.HasPrefix(asked, "a:1") {
				t.Errorf("asked %s", asked)
			}
		})
	}
}

// Where only the end of the connection ends the answer, a refusal counts if its text has ended: it may have been cut.
func TestARefusalThatWasCutIsNone(t *testing.T) {
	const (
		json    = "Content-Type: application/json\r\n"
		open    = json + "Connection: close\r\n\r\n"
		refusal = `{"code":"Throttling.RateQuota","message":"slowly","request_id":"r"}`
		stream  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
		frame   = "event:error\n:HTTP_STATUS/429\ndata:" + refusal
	)
	for _, tt := range []struct {
		name, answer string
		again        bool
	}{
		{"429 whole", "HTTP/1.1 429 No\r\n" + open + refusal, true},
		{"429 cut", "HTTP/1.1 429 No\r\n" + open + refusal[:40], false},
		{"429 cut before its text", "HTTP/1.1 429 No\r\n" + open, false},
		{"429 cut in a frame", "HTTP/1.1 429 No\r\n" + json + "Content-Length: 400\r\n\r\n" + refusal, false},
		{"429 cut in a chunk", "HTTP/1.1 429 No\r\n" + json + "Transfer-Encoding: chunked\r\n\r\n80\r\n" + refusal, false},
		{"429 without the last chunk", "HTTP/1.1 429 No\r\n" + json + "Transfer-Encoding: chunked\r\n\r\n43\r\n" + refusal + "\r\n", false},
		{"429 framed and empty", "HTTP/1.1 429 No\r\n" + json + "Content-Length: 0\r\n\r\n", true},
		{"401 whole", "HTTP/1.1 401 No\r\n" + open + `{"code":"InvalidApiKey"}`, true},
		{"401 cut", "HTTP/1.1 401 No\r\n" + open + `{"code":"InvalidApiKey"`, false},
		{"a bill cut behind its code", "HTTP/1.1 400 No\r\n" + open + `{"code":"Arrearage",`, false},
		{"a stream's", stream + frame + "\n\n", true},
		{"a stream's, cut", stream + frame[:60], false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			headers := []string(nil)
			if strings.HasPrefix(tt.answer, stream) {
				headers = []string{"X-Service-SSE", "enable"}
			}
			h, _ := shared(t, []string{"id: a, weight: 1000, url: " + saying(t, tt.answer), "id: b"})
			resp, err := h.client.Do(h.request("POST", textPath, textBody, headers...))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body) // it may be cut
			_ = resp.Body.Close()
			if asked := h.served(); asked == "b:1" != tt.again {
				t.Errorf("asked %q, status %d", asked, resp.StatusCode)
			}
		})
	}
}

// What has no data is no event: a comment that keeps the connection alive, an empty line, the time until a reconnection. The client gets
// every byte of the account that answers in the end.
func TestWhatPrecedesAFirstEventDecidesNothing(t *testing.T) {
	const (
		head    = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
		refused = "event:error\n:HTTP_STATUS/429\ndata:{\"code\":\"Throttling\",\"message\":\"slowly\",\"request_id\":\"r\"}\n\n"
		faulty  = "event:error\n:HTTP_STATUS/400\ndata:{\"code\":\"InvalidParameter\",\"message\":\"top_p\",\"request_id\":\"r\"}\n\n"
		good    = "id:1\nevent:result\n:HTTP_STATUS/200\ndata:{\"output\":{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"Yes\"},\"finish_reason\":\"stop\"}]},\"usage\":{\"input_tokens\":3,\"output_tokens\":2}}\n\n"
	)
	for _, before := range []string{
		":keep-alive\n\n", ": \n\n: again\n\n", "retry:3000\n\n", "\n", "\n\n", "id:1\n\n", "event:ping\n\n", "\r\n:x\r\n\r\n",
		"\xef\xbb\xbf:x\n\n", strings.Repeat(":wait\n\n", 200),
	} {
		for _, pieces := range [][]string{{head + before + refused}, {head + before, refused},
			{head, before[:len(before)/2], before[len(before)/2:], refused[:30], refused[30:]}} {
			h, _ := shared(t, []string{"id: a, weight: 1000, url: " + saying(t, pieces...), "id: b"})
			got := h.ask("POST", textPath, textBody, "X-Service-SSE", "enable")
			if asked := h.served(); asked != "b:1" || strings.Contains(got.body, "Throttling") {
				t.Errorf("after %q in %d pieces: asked %q, %s", before, len(pieces), asked, got.body)
			}
		}
		for _, event := range []string{good, faulty} {
			h, _ := shared(t, []string{"id: a, weight: 1000, url: " + saying(t, head, before, event[:20], event[20:]), "id: b"})
			got := h.ask("POST", textPath, textBody, "X-Service-SSE", "enable")
			if asked := h.served(); asked != "" || got.body != before+event {
				t.Errorf("%q: asked %q, the client got %q", before, asked, got.body)
			}
		}
	}
}

// An account that is out has its key back in use with the first request that is refused for its content: that was read.
func TestAProbeThatIsTheClientsFaultShowsTheKey(t *testing.T) {
	h, clock := shared(t, []string{"id: a, weight: 1000", "id: b"})
	h.sim.SetFault(simulator.Fault{Account: "a", Error: &simulator.FaultError{Status: 401, Plain: true}})
	h.asks(2)
	h.served()
	clock.move(61 * time.Second)
	h.sim.SetFault(simulator.Fault{Account: "a", Error: &simulator.FaultError{Status: 400}, Times: 1})
	if got := h.asks(1); got != "400" || h.served() != "a:1" {
		t.Errorf("the client's own fault is its answer: %s", got)
	}
	clock.move(time.Second)
	if h.asks(2); h.served() != "a:2" || h.standing("a").State != account.OK {
		t.Errorf("%+v", h.standing("a"))
	}

	h.sim.SetFault(simulator.Fault{Account: "a", Error: &simulator.FaultError{Status: 400, Code: "Arrearage"}})
	h.asks(1)
	h.served()
	clock.move(61 * time.Second)
	h.sim.SetFault(simulator.Fault{Account: "a", Error: &simulator.FaultError{Status: 400}, Times: 1})
	if h.asks(1); h.served() != "a:1" || h.standing("a").State != account.Out {
		t.Errorf("that it pays was not shown: %+v", h.standing("a"))
	}
	clock.move(time.Second)
	if h.asks(2); h.served() != "a:2" || h.standing("a").State != account.OK {
		t.Errorf("the next request asks: %+v", h.standing("a"))
	}
}

// The wait that is named is the shortest after which any account may be asked: not the rest of a day, if another is asked before.
func TestTheShortestWaitIsNamed(t *testing.T) {
	for name, fault := range map[string]simulator.Fault{
		"cooling": throttled("b", "30"), "out": {Account: "b", Error: &simulator.FaultError{Status: 401, Plain: true}},
	} {
		t.Run(name, func(t *testing.T) {
			h, clock := shared(t, []string{"id: b, weight: 1000", "id: a, weight: 1, quotas: {requests: {day: 1}}"})
			h.sim.SetFault(fault)
			if got := h.asks(1); got != "200" || h.served() != "a:1 b:1" {
				t.Fatal(got)
			}
			clock.move(5 * time.Second)
			got := h.ask("POST", textPath, textBody)
			got.wants(t, 429, "admit/account", "Throttling.RateQuota")
			if after := got.header.Get("Retry-After"); len(after) != 2 || after > "67" {
				t.Errorf("Retry-After %s: %s", after, got.body)
			}
		})
	}
}
