package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/gateway/simulator"
	"sluice/telemetry"
)

// TestNoAnswerIsSniffed: a browser that opens an answer, the service's or Sluice's own, does not guess that it is a page.
func TestNoAnswerIsSniffed(t *testing.T) {
	const page = "<html><script>alert(1)</script>"
	h := fronted(t, forPages, forwarding("uploads"), func(p *plan) {
		service := simulator.New(p.sim)
		p.upstream = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.URL.Path, "uploads") {
				service.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, page)
		})
	})
	forwarded := h.ask("GET", "/api/v1/uploads/x", "")
	if forwarded.body != page {
		t.Errorf("the body came as %q", forwarded.body)
	}
	created := h.ask("POST", imagePath, imageBody, "X-Service-Async", "enable")
	for what, got := range map[string]reading{
		"text": h.ask("POST", textPath, textBody), "a stream": h.ask("POST", textPath, textBody, "X-Service-SSE", "enable"),
		"a task": created, "a poll": h.poll(created.member(t, "output", "task_id")), "the list": h.ask("GET", tasksPath, ""),
		"the usage":        h.ask("GET", "/sluice/v1/usage", ""),
		"a forwarded path": forwarded, "a preflight": h.preflight(textPath, "POST", "http://localhost:3000"),
		"a chat":          h.ask("POST", frontChats, frontChat),
		"a chat's stream": h.ask("POST", frontChats, strings.Replace(frontChat, "{", `{"stream":true,`, 1)),
		"no key":          h.ask("GET", tasksPath, "", "Authorization", ""),
		"no path":         h.ask("GET", "/x", ""), "a bad chat": h.ask("POST", frontChats, "{"), "a broken body": h.ask("POST", textPath, "{"),
	} {
		if values := got.header.Values("X-Content-Type-Options"); len(values) != 1 || values[0] != "nosniff" {
			t.Errorf("%s: %d with X-Content-Type-Options %q", what, got.status, values)
		}
	}
}

// TestRecordHasTheBrokenRules: those that the client was warned of, and those for which the request was refused.
func TestRecordHasTheBrokenRules(t *testing.T) {
	h := build(t)
	const input = `"input":{"messages":[{"role":"user","content":"A lighthouse"}]}}`
	for n, tt := range []struct {
		parameters string
		want       []telemetry.BrokenRule
	}{
		{`{"seed":1}`, nil},
		{`{"top_k":101}`, []telemetry.BrokenRule{{ID: "text.top_k.disabled"}}},
		{`{"top_p":7,"seed":-1,"top_k":101}`, []telemetry.BrokenRule{{ID: "text.top_k.disabled"}, {ID: "text.top_p", Refused: true},
			{ID: "text.seed", Refused: true}}},
	} {
		h.ask("POST", textPath, `{"model":"llm-plus","parameters":`+tt.parameters+`,`+input)
		if diff := cmp.Diff(tt.want, h.records.await(t, n+1)[n].Broken); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.parameters, diff)
		}
	}
}
