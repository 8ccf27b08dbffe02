package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// frontStream is a chat that is streamed.
var frontStream = strings.Replace(frontChat, `{"model"`, `{"stream":true,"model"`, 1)

// nativeFrame is a frame of the service.
func nativeFrame(content, finish string) string {
	return `data:{"output":{"choices":[{"message":{"role":"assistant","content":"` + content + `"},"finish_reason":"` + finish + `"}]}}` + "\n\n"
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
	if got.status != 200 || got.err != nil || !strings.Contains(got.body, " two") || !strings.Contains(got.body, `data: {"error":{`) || strings.Contains(got.body, "[DONE]") {
		t.Errorf("%d %v %s", got.status, got.err, got.body)
	}
}

// A stream without frames is an error like an answer without choices.
func TestFrontStreamWithoutFramesIsAnError(t *testing.T) {
	h := fronted(t, streaming(false))
	got := h.ask("POST", frontChats, frontStream)
	got.wantsOpenAI(t, 502, "server_error", "InternalError", "")
	if record := h.recordOf(t, got); record.Status != 502 {
		t.Errorf("record %+v", record)
	}
}

// What arrived whole before a cut reaches the client, also if it was held until more was known.
func TestFrontSendsWhatArrivedBeforeACut(t *testing.T) {
	h := fronted(t, streaming(true, nativeFrame("one", "null"), nativeFrame("one two", "null")))
	got := h.ask("POST", frontChats, frontStream)
	if got.status != 200 || got.err == nil || !strings.Contains(got.body, " two") || strings.Contains(got.body, "[DONE]") {
		t.Errorf("%d %v %s", got.status, got.err, got.body)
	}
}

// A client that asked for a stream reads nothing but a stream, also where the service answers in one piece.
func TestFrontMakesAStreamOfAWholeAnswer(t *testing.T) {
	whole := "{\n\"output\":{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"hello\"},\"finish_reason\":\"stop\"}]},\n\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}"
	for body, events := range map[string]int{frontStream: 2, strings.Replace(frontStream, `{"stream"`, `{"stream_options":{"include_usage":true},"stream"`, 1): 3} {
		h := fronted(t, answering(200, whole))
		got := h.ask("POST", frontChats, body)
		if got.status != 200 || got.err != nil || !strings.HasPrefix(got.header.Get("Content-Type"), "text/event-stream") {
			t.Fatalf("%d %v %v %s", got.status, got.err, got.header, got.body)
		}
		if !strings.Contains(got.body, `"delta":{"role":"assistant","content":"hello"},"finish_reason":"stop"`) || !strings.HasSuffix(got.body, "data: [DONE]\n\n") ||
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
