package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// A service puts the key into an otherwise valid answer, anywhere in its texts. The key is neither in a header to the client nor
// in the request's log and spans. A document passes unchanged; a stream, in which an error need not be marked as one, has the key
// covered.
func TestTheServiceBetraysTheKey(t *testing.T) {
	for name, answer := range map[string]string{
		"document": `{"output":{"choices":[{"message":{"role":"KEY","content":"it is KEY"},"finish_reason":"KEY"}]},` +
			`"usage":{"input_tokens":1,"output_tokens":1,"KEY":3,"x":{"KEY":4}},"request_id":"KEY"}`,
		"stream": "id:1\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":\"it is " +
			"HALF\"},\"finish_reason\":\"null\"}]},\"usage\":{\"KEY\":3}}\n\n" +
			"id:2\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":\"REST\"},\"finish_reason\":\"KEY\"}]},\"usage\":{\"output_tokens\":3},\"request_id\":\"KEY\"}\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			half := len(upstreamKey) / 2
			answer := strings.NewReplacer("KEY", upstreamKey, "HALF", upstreamKey[:half], "REST", upstreamKey[half:]).Replace(answer)
			h := build(t, func(p *plan) {
				p.telemetry = telemetry.Config{Capture: true}
				p.upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", map[string]string{"document": "application/json", "stream": "text/event-stream"}[name])
					w.Header().Set("X-Request-Id", "id-"+upstreamKey)
					_, _ = io.WriteString(w, answer)
				})
			})
			headers := map[string][]string{"stream": {"X-Service-SSE", "enable"}}[name]
			got := h.ask("POST", textPath, textBody, headers...)
			want := answer
			if name == "stream" {
				want = strings.ReplaceAll(answer, upstreamKey, strings.Repeat("*", len(upstreamKey)))
			}
			if got.body != want {
				t.Errorf("the body is %q, want %q", got.body, want)
			}
			if told := fmt.Sprint(got.header); strings.Contains(told, upstreamKey) ||
				got.header.Get("X-Request-Id") != "id-"+strings.Repeat("*", len(upstreamKey)) {
				t.Errorf("the header is %v", told)
			}
			record := h.records.await(t, 1)[0]
			var line strings.Builder
			log := telemetry.NewLog(telemetry.LogConfig{Writer: &line, Now: time.Now})
			log.Write(&record, record.AppendLine(nil))
			if err := log.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.spansNamed(t)
			for what, told := range map[string]string{"the log": line.String(), "its spans": fmt.Sprint(h.spans.spans)} {
				if strings.Contains(told, upstreamKey) || !strings.Contains(told, "****") {
					t.Errorf("of %s: %s", what, told)
				}
			}
		})
	}
}

// The type of an answer is read before anything is covered, even if the service's host is named like a part of it.
func TestTheTypeIsNotCovered(t *testing.T) {
	h := build(t, func(p *plan) {
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; from=127.0.0.1")
			_, _ = io.WriteString(w, `{"output":{"text":"a"},"usage":{"input_tokens":3,"output_tokens":4}}`)
		}))
		t.Cleanup(service.Close)
		p.address = service.URL
	})
	got := h.ask("POST", textPath, textBody)
	if kind := got.header.Get("Content-Type"); kind != "application/json; from=127.0.0.1" {
		t.Errorf("the type is %q", kind)
	}
	if n, ok := h.records.await(t, 1)[0].Usage.Get(meter.OutputTokens); n != 4 || !ok {
		t.Errorf("%d output tokens were read", n)
	}
}

// escapedKey is the key as JSON may spell it, and allEscaped the same with every letter escaped.
var (
	escapedKey = strings.ReplaceAll(upstreamKey, "-", `\u002d`)
	allEscaped = func() (text string) {
		for _, c := range []byte(upstreamKey) {
			text += fmt.Sprintf(`\u%04X`, c)
		}
		return text
	}()
)

// No error text of the service shows a team the key, whatever the form of the error, the spelling of the key, and the pieces in
// which it arrives; everything else is unchanged.
func TestAnErrorTellsNobodyTheKey(t *testing.T) {
	const document = `{"code":"InvalidApiKey","message":"KEY is wrong","request_id":"7f"}`
	long := strings.Repeat("x", 40<<10)
	for name, text := range map[string]string{
		"event first":  "event:error\ndata:" + document + "\n\n",
		"data first":   "id:1\ndata:" + document + "\nevent:error\n\n",
		"two blanks":   "event:  error\ndata:" + document + "\n\n",
		"upper case":   "Event:error\nData:" + document + "\n\n",
		"no event":     "data:" + document + "\n\n",
		"CR":           "event: error\rdata:" + document + "\r\r",
		"behind text":  "data:{\"output\":{}}\n\ndata:" + document + "\n\n",
		"long before":  "event:error\ndata:{\"message\":\"" + long + "KEY\"}\n\n",
		"long behind":  "data:{\"message\":\"KEY" + long + "\"}\nevent:error\n\n",
		"on a border":  "data:{\"message\":\"" + strings.Repeat("x", 32<<10-30) + "KEY" + long + "\"}\nevent:error\n\n",
		"not ended":    "event:error\ndata:" + document,
		"a comment":    ": KEY\n\n",
		"error's body": document,
		"error's long": `{"message":"` + long + `KEY"}`,
	} {
		for spelling, key := range map[string]string{"plain": upstreamKey, "escaped": escapedKey, "all escaped": allEscaped} {
			t.Run(name+"/"+spelling, func(t *testing.T) {
				h := build(t, func(p *plan) {
					p.upstream = betrays(strings.ReplaceAll(text, "KEY", key), strings.HasPrefix(name, "error's"))
				})
				got := h.ask("POST", textPath, textBody, "X-Service-SSE", "enable")
				if want := strings.ReplaceAll(text, "KEY", strings.Repeat("*", len(key))); got.body != want {
					t.Errorf("%d bytes, want %d: %.200q … %.200q", len(got.body), len(want), got.body, got.body[max(0, len(got.body)-200):])
				}
				if kind := got.header.Get("Content-Type"); !strings.Contains(kind, "; of=***") {
					t.Errorf("the type is %q", kind)
				}
				if all := fmt.Sprint(got.header); strings.Contains(all, upstreamKey) || !strings.Contains(all, "Retry-After:[***") {
					t.Errorf("the header is %s", all)
				}
			})
		}
	}
}

// betrays answers with a text in pieces, and with the key in each header; as an error, or as a stream.
func betrays(text string, isError bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		kind, status := "text/event-stream", http.StatusOK
		if isError {
			kind, status = "application/json", http.StatusBadRequest
		}
		for _, name := range []string{"X-Request-Id", "Retry-After", "X-Other"} {
			w.Header().Set(name, upstreamKey)
		}
		w.Header().Set("Content-Type", kind+"; of="+upstreamKey)
		w.WriteHeader(status)
		for len(text) > 0 {
			n := min(len(text), 1+len(text)/7)
			_, _ = io.WriteString(w, text[:n])
			w.(http.Flusher).Flush()
			text = text[n:]
		}
	})
}

// A failed task has its error in an answer of status 200.
func TestAFailedTaskTellsNobodyTheKey(t *testing.T) {
	h := build(t, func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			status := "PENDING"
			if r.Method == http.MethodGet {
				status = "FAILED"
			}
			_, _ = fmt.Fprintf(w, `{"output":{"task_id":"t1","task_status":"%s","code":"InvalidApiKey","message":"%s and %s"},"request_id":"7f"}`,
				status, upstreamKey, escapedKey)
		})
	})
	for _, got := range []reading{h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable"), h.poll("t1")} {
		if got.status != http.StatusOK || strings.Contains(got.body, upstreamKey) || strings.Contains(got.body, escapedKey) ||
			!strings.Contains(got.body, `"message":"***`) {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
}

// An unusable answer is logged at the lowest level, with the key in it covered.
func TestAMalformedAnswerTellsTheLogNoKey(t *testing.T) {
	for _, head := range []string{
		"KEY\r\n\r\n", "HTTP/1.1 KEY\r\n\r\n", "HTTP/1.1 200 OK\r\nX-A KEY\r\n\r\n", "HTTP/1.1 200 OK\r\nKEY\r\n\r\n", "HTTP/KEY 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: KEY\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: KEY\r\n\r\n",
	} {
		h := build(t, func(p *plan) { p.address = speaks(t, strings.ReplaceAll(head, "KEY", upstreamKey)) })
		h.ask("POST", textPath, textBody).wants(t, 502, "forward/answer", "InternalError")
		h.records.await(t, 1)
		log := h.log.String()
		if strings.Contains(log, upstreamKey) || !strings.Contains(log, `"refused"`) {
			t.Errorf("%q: the log says %s", head, log)
		}
	}
}

// speaks is a service that answers every request with the same bytes, and its URL.
func speaks(t *testing.T, text string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}
