package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	otlptrace "go.opentelemetry.io/proto/otlp/trace/v1"

	"sluice/gateway/simulator"
)

const (
	traceOfClient = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanOfClient  = "00f067aa0ba902b7"
	traceparent   = "00-" + traceOfClient + "-" + spanOfClient + "-01"

	serverText = "POST " + textURL
	parameters = `"parameters":{"max_tokens":5000,"temperature":0.5,"top_p":0.9,"top_k":40,"seed":7,"presence_penalty":0.25,` +
		`"stop":["END"],"result_format":"message"`
	textOfSpans = `{"model":"llm-max","input":{"messages":[{"role":"system","content":"Be short."},{"role":"user",` +
		`"content":"CANARY-prompt as json"}]},` + parameters
)

// send sends a request with headers and returns the whole answer.
func send(t *testing.T, client *http.Client, method, address, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer test")
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body) // a cut answer is read up to the cut
	return answer, string(text)
}

// answerUsage reads the usage of an answer, or of a stream's last frame.
func answerUsage(t *testing.T, text string) (usage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Images int64 `json:"image_count"`
},
) {
	t.Helper()
	document := text
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
			document = data
		}
	}
	var body struct {
		Usage json.RawMessage `json:"usage"`
	}
	if err := json.Unmarshal([]byte(document), &body); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body.Usage, &usage); err != nil {
		t.Fatal(err)
	}
	return usage
}

// A request is a SERVER span, and its call of the service a CLIENT span below it, with the answer's usage; the client's own
// trace is linked, and its state and baggage are sent nowhere.
func TestSpansOfAnAnswer(t *testing.T) {
	for _, form := range []string{"json", "sse"} {
		t.Run(form, func(t *testing.T) {
			collector := collecting(t, nil)
			service, upstream := newService(t, simulator.Config{})
			h := serving(t, upstream.URL)
			body, headers := textOfSpans+`}}`, []string{"Traceparent", traceparent, "Tracestate", "a=b", "Baggage", "secret=CANARY"}
			if form == "sse" {
				body, headers = textOfSpans+`,"incremental_output":true}}`, append(headers, "X-Service-SSE", "enable")
			}
			answer, text := send(t, newClient(t), "POST", "http://"+h.public+textURL, body, headers...)
			used := answerUsage(t, text)
			if code := h.stop(); code != exitClean || answer.StatusCode != http.StatusOK {
				t.Fatalf("exit %d, %d %s", code, answer.StatusCode, text)
			}
			outer, inner := collector.one(serverText), collector.one("chat llm-max")
			if outer.GetKind() != otlptrace.Span_SPAN_KIND_SERVER || inner.GetKind() != otlptrace.Span_SPAN_KIND_CLIENT {
				t.Errorf("kinds %v and %v", outer.GetKind(), inner.GetKind())
			}
			if inner.parent() != outer.id() || inner.trace() != outer.trace() || outer.parent() != "" {
				t.Error("the call is not below the request, or the request is below something")
			}
			if outer.trace() == traceOfClient || !outer.linked(traceOfClient, spanOfClient) {
				t.Errorf("the client's trace is not linked: %v", outer.GetLinks())
			}
			host, port, _ := strings.Cut(strings.TrimPrefix(upstream.URL, "http://"), ":")
			inner.has(t, map[string]any{
				"gen_ai.operation.name": "chat", "gen_ai.provider.name": "service", "gen_ai.request.model": "llm-max", "gen_ai.output.type": "text",
				"gen_ai.request.max_tokens": 5000, "gen_ai.request.temperature": 0.5, "gen_ai.request.top_p": 0.9, "gen_ai.request.top_k": 40,
				"gen_ai.request.seed": 7, "gen_ai.request.presence_penalty": 0.25, "gen_ai.request.stop_sequences": []string{"END"},
				"gen_ai.usage.input_tokens": used.Input, "gen_ai.usage.output_tokens": used.Output, "gen_ai.response.finish_reasons": []string{"stop"},
				"server.address": host, "http.response.status_code": 200, "error.type": nil, "gen_ai.input.messages": nil,
				"gen_ai.output.messages": nil,
				"sluice.team":            "search",
			})
			if fmt.Sprint(inner.attributes["server.port"]) != port || inner.attributes["gen_ai.response.id"] == nil {
				t.Errorf("%v", inner.attributes)
			}
			first, streamed := inner.attributes["gen_ai.response.time_to_first_chunk"].(float64)
			if streamed != (form == "sse") || streamed && first <= 0 || (inner.attributes["gen_ai.request.stream"] == true) != streamed {
				t.Errorf("time to the first chunk %v, %v", first, inner.attributes)
			}
			outer.has(t, map[string]any{
				"http.request.method": "POST", "http.route": textURL, "url.scheme": "http", "http.response.status_code": 200,
				"sluice.team": "search", "sluice.key": "7f3k9q2m4x1c", "sluice.endpoint": "text", "sluice.kind": "text", "sluice.cost.flag": "exact",
				"sluice.cost.tokens": used.Input + used.Output, "sluice.request.id": answer.Header.Get("Sluice-Request-Id"), "error.type": nil,
			})
			if line := h.log.bytes(); !strings.Contains(string(line), `"trace_id":"`+outer.trace()+`"`) {
				t.Errorf("the log does not name the trace in\n%s", line)
			}
			if raw := collector.raw.String(); strings.Contains(raw, "CANARY") || strings.Contains(raw, "sk-upstream") {
				t.Error("a prompt, baggage or a key was sent to the collector")
			}
			for _, got := range service.Requests() {
				for _, name := range []string{"Traceparent", "Tracestate", "Baggage"} {
					if got.Header.Get(name) != "" {
						t.Errorf("the service received %s", name)
					}
				}
			}
			collector.correlated(outer)
		})
	}
}

// correlated looks for the log record of a request.
func (c *collector) correlated(s *seenSpan) {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.logs {
		if r.GetBody().GetStringValue() == "request" && string(r.GetTraceId()) == string(s.GetTraceId()) &&
			string(r.GetSpanId()) == string(s.GetSpanId()) {
			if plain(r.GetAttributes())["team"] != "search" {
				c.Errorf("the log record has %v", r.GetAttributes())
			}
			return
		}
	}
	c.Errorf("none of %d log records is of the request", len(c.logs))
}

// One setting joins a client's trace, another sends the trace to the service.
func TestATraceIsJoinedAndSent(t *testing.T) {
	collector := collecting(t, nil)
	service, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL, "SLUICE_TRACE_CONTEXT=join", "SLUICE_TRACE_UPSTREAM=true", "SLUICE_PROVIDER_NAME=acme")
	send(t, newClient(t), "POST", "http://"+h.public+textURL, textOfSpans+`}}`, "Traceparent", traceparent, "Tracestate", "a=b", "Baggage",
		"b=c")
	h.stop()
	outer, inner := collector.one(serverText), collector.one("chat llm-max")
	if outer.trace() != traceOfClient || outer.parent() != spanOfClient || len(outer.GetLinks()) != 0 || outer.GetTraceState() != "" {
		t.Errorf("trace %s, parent %s, links %v, state %q", outer.trace(), outer.parent(), outer.GetLinks(), outer.GetTraceState())
	}
	inner.has(t, map[string]any{"gen_ai.provider.name": "acme"})
	got := service.Requests()[0].Header
	if got.Get("Traceparent") != "00-"+traceOfClient+"-"+inner.id()+"-01" || got.Get("Tracestate") != "" || got.Get("Baggage") != "" {
		t.Errorf("the service received %v", got)
	}
}

// An invalid trace context is ignored.
func TestHostileTraceContext(t *testing.T) {
	collector := collecting(t, nil)
	service, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL, "SLUICE_TRACE_CONTEXT=join", "SLUICE_TRACE_UPSTREAM=true")
	states := strings.TrimSuffix(strings.Repeat("k=v,", 512), ",")
	for _, given := range []string{
		"", "x", "00-" + strings.Repeat("0", 32) + "-" + spanOfClient + "-01", "00-" + traceOfClient + "-" + strings.Repeat("0", 16) + "-01",
		"ff-" + traceOfClient + "-" + spanOfClient + "-01", strings.ToUpper(traceparent), traceparent + "-x", strings.Repeat("0", 1000),
	} {
		answer, _ := send(t, newClient(t), "POST", "http://"+h.public+textURL, textOfSpans+`}}`, "Traceparent", given, "Tracestate", states,
			"Baggage", strings.Repeat("b", 10<<10))
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%q: %d", given, answer.StatusCode)
		}
	}
	h.stop()
	for _, s := range collector.named(serverText) {
		if s.trace() == traceOfClient || s.parent() != "" || s.GetTraceState() != "" {
			t.Errorf("a hostile context was used: %s below %s, %q", s.trace(), s.parent(), s.GetTraceState())
		}
	}
	for _, got := range service.Requests() {
		if strings.Contains(got.Header.Get("Traceparent"), traceOfClient) || got.Header.Get("Tracestate")+got.Header.Get("Baggage") != "" {
			t.Errorf("the service received %v", got.Header)
		}
	}
}

// A refusal's span names it, and there is no call of the service.
func TestSpansOfRefusals(t *testing.T) {
	for _, tt := range []struct {
		name, path, body, stage, reason string
		status                          int
	}{
		{"rules", textURL, `{"model":"llm-max","input":{"messages":[{"role":"user","content":"a"}]},"parameters":{"top_p":7}}`, "inspect",
			"rules", 400},
		{"path", "/api/v1/elsewhere/CANARY-path?CANARY-query", "", "route", "path", 404},
		{"task", "/api/v1/tasks/unknown", "", "recall", "task", 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			collector := collecting(t, nil)
			_, upstream := newService(t, simulator.Config{})
			h := serving(t, upstream.URL)
			method := "GET"
			if tt.body != "" {
				method = "POST"
			}
			send(t, newClient(t), method, "http://"+h.public+tt.path, tt.body)
			h.stop()
			name := method
			if tt.stage != "route" {
				name = strings.Replace(method+" "+tt.path, "unknown", "{id}", 1)
			}
			s := collector.one(name)
			s.has(t, map[string]any{"sluice.refusal.stage": tt.stage, "sluice.refusal.reason": tt.reason, "http.response.status_code": tt.status,
				"error.type": nil})
			if s.GetStatus().GetCode() != otlptrace.Status_STATUS_CODE_UNSET || len(collector.names()) != 1 {
				t.Errorf("status %v, spans %q", s.GetStatus(), collector.names())
			}
			if strings.Contains(collector.raw.String(), "CANARY") {
				t.Error("a path or a query was sent to the collector")
			}
		})
	}
}

// A cut answer, an error of the service and a client that leaves end both spans, with the usage so far.
func TestSpansOfCuts(t *testing.T) {
	for _, tt := range []struct {
		name      string
		stream    bool
		fault     simulator.Fault
		status    int
		errorType string
		server    any
	}{
		{"cut", true, simulator.Fault{Cut: "close", After: 2}, 200, "forward/answer", nil},
		{"reset", false, simulator.Fault{Drop: "reset"}, 502, "forward/answer", "forward/answer"},
		{"error", false, simulator.Fault{Error: &simulator.FaultError{Status: 429, Code: "Throttling.RateQuota", Message: "slow down"}}, 429,
			"Throttling.RateQuota", nil},
		{"error frame", true, simulator.Fault{Error: &simulator.FaultError{Status: 429, Code: "Throttling.RateQuota", Message: "slow down"},
			After: 2}, 200, "Throttling.RateQuota", nil},
		{"overload", false, simulator.Fault{Error: &simulator.FaultError{Status: 503, Code: "ModelUnavailable", Message: "later"}}, 503,
			"ModelUnavailable", "503"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			collector := collecting(t, nil)
			service, upstream := newService(t, simulator.Config{})
			service.SetFault(tt.fault)
			h := serving(t, upstream.URL)
			headers, body := []string{"X-Service-SSE", "enable"}, textOfSpans+`,"incremental_output":true}}`
			if !tt.stream {
				headers, body = nil, strings.Replace(textOfSpans, `"top_k"`, `"response_format":{"type":"json_object"},"top_k"`, 1)+`}}`
			}
			send(t, newClient(t), "POST", "http://"+h.public+textURL, body, headers...)
			h.stop()
			outer, inner := collector.one(serverText), collector.one("chat llm-max")
			inner.has(t, map[string]any{"error.type": tt.errorType, "gen_ai.output.type": map[bool]string{true: "text", false: "json"}[tt.stream]})
			outer.has(t, map[string]any{"error.type": tt.server, "http.response.status_code": tt.status})
			if inner.GetStatus().GetCode() != otlptrace.Status_STATUS_CODE_ERROR || inner.GetEndTimeUnixNano() > outer.GetEndTimeUnixNano() {
				t.Errorf("status %v, ends %d after the request", inner.GetStatus(), inner.GetEndTimeUnixNano()-outer.GetEndTimeUnixNano())
			}
			if tt.name == "cut" && (inner.attributes["gen_ai.usage.output_tokens"] == nil || outer.attributes["sluice.refusal.reason"] != "answer") {
				t.Errorf("%v, %v", inner.attributes, outer.attributes)
			}
		})
	}
}

// The metrics of the page are exported, too, under the conventions' names, with the process's resource.
func TestMetricsAreSent(t *testing.T) {
	collector := collecting(t, nil)
	_, upstream := newService(t, simulator.Config{})
	h := serving(t, upstream.URL)
	answer, text := send(t, newClient(t), "POST", "http://"+h.public+textURL, textOfSpans+`}}`)
	used := answerUsage(t, text)
	if code := h.stop(); code != exitClean || answer.StatusCode != http.StatusOK {
		t.Fatalf("exit %d, %s", code, text)
	}
	tokens := collector.metrics["gen_ai.client.token.usage"]
	if tokens.GetUnit() != "{token}" || len(tokens.GetHistogram().GetDataPoints()) != 2 {
		t.Fatalf("%v", tokens)
	}
	for _, point := range tokens.GetHistogram().GetDataPoints() {
		labels, want := plain(point.GetAttributes()), used.Input
		if labels["gen_ai.token.type"] == "output" {
			want = used.Output
		}
		if point.GetSum() != float64(want) || labels["gen_ai.operation.name"] != "chat" || labels["gen_ai.request.model"] != "other" ||
			labels["sluice.team"] != "search" {
			t.Errorf("%v, want %d tokens", point, want)
		}
	}
	for _, name := range []string{"http.server.request.duration", "gen_ai.client.operation.duration", "sluice.overhead", "sluice.build_info",
		"go.goroutine.count"} {
		if collector.metrics[name] == nil {
			t.Errorf("%s was not sent", name)
		}
	}
	if collector.about["service.name"] != "sluice" || collector.about["service.instance.id"] == nil {
		t.Errorf("its resource is %v", collector.about)
	}
}
