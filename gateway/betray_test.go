package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/cache"
	"sluice/gateway"
	"sluice/telemetry"
)

// H12, H22: a service that puts the key into an answer that is otherwise well, wherever it may choose words, has it neither
// in a header to the client nor in what is told of the request. The body is passed on as it is.
func TestH12H22TheServiceBetraysTheKey(t *testing.T) {
	for name, answer := range map[string]string{
		"document": `{"output":{"choices":[{"message":{"role":"KEY","content":"it is KEY"},"finish_reason":"KEY"}]},"usage":{"input_tokens":1,"output_tokens":1,"KEY":3,"x":{"KEY":4}},"request_id":"KEY"}`,
		"stream": "id:1\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":\"it is HALF\"},\"finish_reason\":\"null\"}]},\"usage\":{\"KEY\":3}}\n\n" +
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
			if got.body != answer {
				t.Errorf("the body is %q, want it as it was", got.body)
			}
			if told := fmt.Sprint(got.header); strings.Contains(told, upstreamKey) || got.header.Get("X-Request-Id") != "id-"+strings.Repeat("*", len(upstreamKey)) {
				t.Errorf("the header is %v", told)
			}
			record := h.records.await(t, 1)[0]
			var line strings.Builder
			log := telemetry.NewLog(telemetry.LogConfig{Writer: &line, Now: time.Now})
			log.Write(record)
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

// The type of an answer is read before anything is covered, also where the service's host is named like a part of it.
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
	if n, ok := h.records.await(t, 1)[0].Usage.Get(telemetry.OutputTokens); n != 4 || !ok {
		t.Errorf("%d output tokens were read", n)
	}
}

// slowClaims take their time.
type slowClaims struct {
	gateway.Claims
	took time.Duration
	move func(time.Duration)
}

func (s *slowClaims) Put(ctx context.Context, claim cache.Claim) {
	s.move(s.took)
	s.Claims.Put(ctx, claim)
}

// What Sluice does once a creation's answer is there is its own doing, and not the service's.
func TestACreationsCallEndsWithItsAnswer(t *testing.T) {
	h, _ := tasked(t, func(p *plan) {
		clock := p.now
		var moved time.Duration
		p.now = func() time.Time { return clock().Add(moved) }
		p.claims = &slowClaims{cache.NewClaims(p.config.TaskTTL, p.now), time.Minute, func(d time.Duration) { moved += d }}
	})
	h.create(t)
	h.spansNamed(t)
	seen := 0
	for _, s := range h.spans.spans {
		took := time.Duration(s.GetEndTimeUnixNano() - s.GetStartTimeUnixNano())
		switch {
		case strings.HasPrefix(s.GetName(), "generate_content"):
			seen++
			if took >= time.Minute {
				t.Errorf("the call took %v", took)
			}
		case strings.HasPrefix(s.GetName(), "POST"):
			seen++
			if took < time.Minute {
				t.Errorf("the request took %v", took)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d spans were seen", seen)
	}
}
