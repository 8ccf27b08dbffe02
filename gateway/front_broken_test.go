package gateway_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// frontStream is a chat that is streamed.
var frontStream = strings.Replace(frontChat, `{"model"`, `{"stream":true,"model"`, 1)

// nativeFrame is a frame of the service.
func nativeFrame(content, finish string) string {
	return `data:{"output":{"choices":[{"message":{"role":"assistant","content":"` + content + `"},"finish_reason":"` + finish +
		`"}]}}` + "\n\n"
}

// streaming is a service that streams these frames and then ends its answer, in order or by a cut.
func streaming(cut bool, frames ...string) func(*plan) {
	return func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, strings.Join(frames, ""))
			if cut {
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
		})
	}
}

// hangingUp is a service that streams these frames without any framing, so that a cut looks like an end.
func hangingUp(frames ...string) func(*plan) {
	return func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"+strings.Join(frames, ""))
			_ = conn.Close()
		})
	}
}

// A stream that ends before its finish_reason broke off, also where its end looks like one.
func TestFrontStreamWithoutAFinishEndsWithAnError(t *testing.T) {
	h := fronted(t, hangingUp(nativeFrame("one", "null"), nativeFrame(" two", "null")))
	got := h.ask("POST", frontChats, frontStream)
	if got.status != 200 || got.err != nil || !strings.Contains(got.body, " two") || !strings.Contains(got.body, `data: {"error":{`) ||
		strings.Contains(got.body, "[DONE]") {
		t.Errorf("%d %v %s", got.status, got.err, got.body)
	}
}

// A stream without frames is an error like an answer without choices.
func TestFrontStreamWithoutFramesIsAnError(t *testing.T) {
	h := fronted(t, streaming(false))
	got := h.ask("POST", frontChats, frontStream)
	got.wantsOpenAI(t, 502, "server_error", "InternalError", "")
	if record := h.recordOf(t, got); record.Status != 502 || record.Refusal != "forward/answer" {
		t.Errorf("record %+v", record)
	}
}

// fallingSilent is a service that streams these frames and then nothing, until the gateway gives up.
func fallingSilent(frames ...string) func(*plan) {
	return func(p *plan) {
		p.config.IdleTimeout = 100 * time.Millisecond
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, strings.Join(frames, ""))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
	}
}

// A stream that ends early, in whichever way, ends in the dialect's own error after all that arrived whole, and in order. It is charged as
// by the service's own interface.
func TestFrontStreamsThatEndEarlyEndWithTheDialectsError(t *testing.T) {
	one, two := nativeFrame("one", "null"), nativeFrame("one two", "null") // they are held until more is known
	const failure = "event:error\n:HTTP_STATUS/500\ndata:{\"code\":\"ModelServingError\",\"message\":\"it failed\"}\n\n"
	for way, tt := range map[string]struct {
		service     func(*plan)
		says, fault string
	}{
		"cut":                   {streaming(true, one, two), "The service's answer broke off.", "forward/answer"},
		"cut behind the finish": {streaming(true, one, two, nativeFrame("one two", "stop")), "The service's answer broke off.", "forward/answer"},
		"hung up":               {hangingUp(one, two), "The service's answer broke off.", "forward/answer"},
		"error frame":           {streaming(false, one, two, failure), "it failed", ""},
		"silence":               {fallingSilent(one, two), "The service fell silent inside its answer.", "forward/silent"},
	} {
		t.Run(way, func(t *testing.T) {
			h := fronted(t, tt.service)
			native := h.recordOf(t, h.ask("POST", textPath, textBody, "X-Service-SSE", "enable"))
			for path, dialect := range map[string]struct{ body, event string }{
				frontChats:     {frontChat, "data: {\"error\":{\"message\":"},
				frontResponses: {frontResponse, "event: response.failed\ndata: {\"type\":\"response.failed\","},
				frontMessages:  {frontMessage, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\","},
			} {
				got := h.ask("POST", path, strings.Replace(dialect.body, "{", `{"stream":true,`, 1))
				events := strings.SplitAfter(strings.TrimSuffix(got.body, "\n\n"), "\n\n")
				last := events[len(events)-1]
				if got.status != 200 || got.err != nil || !strings.Contains(got.body, " two") || !strings.HasPrefix(last, dialect.event) ||
					!strings.Contains(last, tt.says) {
					t.Errorf("%s: %d %v %s", path, got.status, got.err, got.body)
				}
				record := h.recordOf(t, got)
				if diff := cmp.Diff(native.Cost, record.Cost); diff != "" || record.Refusal != tt.fault || record.Status != 200 ||
					record.BytesOut != int64(len(got.body)) {
					t.Errorf("%s: record %+v\ncost (-native +front):\n%s", path, record, diff)
				}
			}
		})
	}
}

// A client of Messages is told that a silent stream goes on, once the stream has begun; others are told nothing.
func TestFrontPingsInASilentStream(t *testing.T) {
	read := make(chan struct{})
	h := fronted(t, func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			for _, frame := range []string{"", nativeFrame("one", "null") + nativeFrame(" two", "null"), nativeFrame("", "stop")} {
				_, _ = io.WriteString(w, frame)
				_ = http.NewResponseController(w).Flush()
				if frame != nativeFrame("", "stop") {
					<-read
				}
			}
		})
	})
	h.gateway.SetPulseTime(5 * time.Millisecond)
	for path, body := range map[string]string{frontMessages: frontMessage, frontChats: frontChat} {
		go func() { time.Sleep(50 * time.Millisecond); read <- struct{}{} }() // silence before the first event, which cannot be seen from outside
		resp, err := h.client.Do(h.request("POST", path, strings.Replace(body, "{", `{"stream":true,`, 1)))
		if err != nil {
			t.Fatal(err)
		}
		const ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
		text, pings := readUntil(t, resp.Body, " two"), 2
		if path == frontChats {
			pings = 0
		}
		text += readUntil(t, resp.Body, strings.Repeat(ping, pings))
		read <- struct{}{}
		rest, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		text += string(rest)
		if before, _, _ := strings.Cut(text, "one"); err != nil || strings.Contains(before, ping) ||
			strings.Contains(text, ping) != (pings > 0) || !strings.Contains(string(rest), "stop") {
			t.Errorf("%s: %v %s", path, err, text)
		}
	}
}

// readUntil reads until a text has come.
func readUntil(t testing.TB, from io.Reader, want string) (text string) {
	t.Helper()
	for buf := make([]byte, 4096); !strings.Contains(text, want); {
		n, err := from.Read(buf)
		if text += string(buf[:n]); err != nil {
			t.Fatalf("%v after %s", err, text)
		}
	}
	return text
}

// A client that asked for a stream reads nothing but a stream, also where the service answers in one piece.
func TestFrontMakesAStreamOfAWholeAnswer(t *testing.T) {
	whole := "{\n\"output\":{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"hello\"},\"finish_reason\":\"stop\"}]},\n\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}"
	for body, events := range map[string]int{frontStream: 2, strings.Replace(frontStream, `{"stream"`,
		`{"stream_options":{"include_usage":true},"stream"`, 1): 3} {
		h := fronted(t, answering(200, whole))
		got := h.ask("POST", frontChats, body)
		if got.status != 200 || got.err != nil || !strings.HasPrefix(got.header.Get("Content-Type"), "text/event-stream") {
			t.Fatalf("%d %v %v %s", got.status, got.err, got.header, got.body)
		}
		if !strings.Contains(got.body, `"delta":{"role":"assistant","content":"hello"},"finish_reason":"stop"`) ||
			!strings.HasSuffix(got.body, "data: [DONE]\n\n") ||
			strings.Count(got.body, "data: ") != events || events == 3 && !strings.Contains(got.body, `"choices":[],"usage":{"prompt_tokens":3,`) {
			t.Errorf("%s", got.body)
		}
		if record := h.recordOf(t, got); record.Status != 200 || record.BytesOut != int64(len(got.body)) {
			t.Errorf("record %+v", record)
		}
	}
	h := fronted(t, answering(200, `{"output":{"choices":[]}}`))
	h.ask("POST", frontChats, frontStream).wantsOpenAI(t, 502, "server_error", "InternalError", "")
	h = fronted(t, answering(429, `{"code":"Throttling","message":"slow down"}`))
	h.ask("POST", frontChats, frontStream).wantsOpenAI(t, 429, "rate_limit_error", "Throttling", "")
}

// answering is a service that answers everything with this.
func answering(status int, body string) func(*plan) {
	return func(p *plan) {
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
}

// A body that Sluice has made of the client's is refused without a place in it, which the client's body does not have.
func TestFrontNamesNoPlaceInABodyThatTheClientDidNotWrite(t *testing.T) {
	h := fronted(t)
	const twice = `{"type":"object","type":"object"}`
	got := h.ask("POST", frontChats, strings.Replace(frontChat, "{",
		`{"tools":[{"type":"function","function":{"name":"level","parameters":`+twice+`}}],`, 1))
	got.wantsOpenAI(t, 400, "invalid_request_error", "InvalidParameter", "")
	if !strings.Contains(got.body, `the member \"type\" appears twice.`) || strings.Contains(got.body, "byte") {
		t.Errorf("%s", got.body)
	}
	if native := h.ask("POST", textPath, strings.Replace(textBody, "{", `{"parameters":`+twice+`,`, 1)); native.status != 400 ||
		!strings.Contains(native.body, "(byte ") {
		t.Errorf("%d %s", native.status, native.body)
	}
}

// A client that had left before the error of its answer is logged like any other that left.
func TestFrontErrorsThatFindNoClientAreLoggedAs499(t *testing.T) {
	content := nativeFrame("one", "null") + nativeFrame(" two", "null")
	for about, frames := range map[string][]string{
		"an error": {"", errorFrame("500", "Odd")}, "an error after content": {content, errorFrame("500", "Odd")},
		"an unreadable frame": {"", "data:{\n\n"}, "one after content": {content, "data:{\n\n"}, "content": {"", nativeFrame("one", "stop")},
	} {
		t.Run(about, func(t *testing.T) {
			asked, left := make(chan struct{}), make(chan struct{})
			h := fronted(t, func(p *plan) {
				p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, frames[0])
					_ = http.NewResponseController(w).Flush()
					close(asked)
					<-left
					_, _ = io.WriteString(w, frames[1])
				})
			})
			ctx, leave := context.WithCancel(t.Context())
			go func() {
				<-asked
				time.Sleep(50 * time.Millisecond) // the first frames arrive
				leave()
				time.Sleep(100 * time.Millisecond) // until the gateway sees that
				close(left)
			}()
			if resp, err := h.client.Do(h.request("POST", frontChats, frontStream).WithContext(ctx)); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			if record := h.records.await(t, 1)[0]; record.Status != 499 {
				t.Errorf("record %+v", record)
			}
		})
	}
}
