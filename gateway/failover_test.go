package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/gateway/simulator"
)

// Another account is tried where the first has certainly done no work, and nowhere else.
func TestAnotherAccountIsTriedOnlyIfNoWorkWasDone(t *testing.T) {
	sse := []string{"X-Service-SSE", "enable"}
	for _, tt := range []struct {
		name    string
		fault   simulator.Fault
		headers []string
		status  int
		asked   string
	}{
		{"throttled", simulator.Fault{Error: &simulator.FaultError{Code: "Throttling"}}, nil, 200, "a:1 b:1"},
		{"over quota", simulator.Fault{Error: &simulator.FaultError{Code: "Throttling.AllocationQuota", Status: 429}}, nil, 200, "a:1 b:1"},
		{"a 429 without a code", simulator.Fault{Error: &simulator.FaultError{Code: "Odd", Status: 429}}, nil, 200, "a:1 b:1"},
		{"its key", simulator.Fault{Error: &simulator.FaultError{Status: 401, Plain: true}}, nil, 200, "a:1 b:1"},
		{"its bill", simulator.Fault{Error: &simulator.FaultError{Code: "Arrearage", Status: 400}}, nil, 200, "a:1 b:1"},
		{"throttled in a stream", simulator.Fault{Error: &simulator.FaultError{Code: "Throttling.RateQuota"}}, sse, 200, "a:1 b:1"},
		{"its bill in a stream", simulator.Fault{Error: &simulator.FaultError{Code: "Arrearage", Status: 400}}, sse, 200, "a:1 b:1"},
		{"a plain refusal of a stream", simulator.Fault{Error: &simulator.FaultError{Code: "Throttling", Plain: true}}, sse, 200, "a:1 b:1"},
		{"throttled inside a stream", simulator.Fault{Error: &simulator.FaultError{Code: "Throttling"}, After: 2}, sse, 200, "a:1"},
		{"a bad request", simulator.Fault{Error: &simulator.FaultError{Status: 400}}, nil, 400, "a:1"},
		{"a bad request in a stream", simulator.Fault{Error: &simulator.FaultError{Status: 400}}, sse, 200, "a:1"},
		{"no rights", simulator.Fault{Error: &simulator.FaultError{Status: 403}}, nil, 403, "a:1"},
		{"it failed", simulator.Fault{Error: &simulator.FaultError{Status: 500}}, nil, 500, "a:1"},
		{"it is not available", simulator.Fault{Error: &simulator.FaultError{Status: 503}}, nil, 503, "a:1"},
		{"it dropped the connection", simulator.Fault{Drop: "close"}, nil, 502, "a:1"},
		{"it reset the connection", simulator.Fault{Drop: "reset"}, nil, 502, "a:1"},
		{"a redirect", simulator.Fault{Redirect: "http://other.example"}, nil, 502, "a:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, _ := shared(t, []string{"id: a, weight: 1000", "id: b"})
			tt.fault.Account = "a"
			h.sim.SetFault(tt.fault)
			got := h.ask("POST", textPath, textBody, tt.headers...)
			if got.status != tt.status {
				t.Errorf("status %d %s, want %d", got.status, got.body, tt.status)
			}
			again := strings.Contains(tt.asked, "b")
			if again && (strings.Contains(got.body, `"code"`) || !strings.Contains(got.body, `"usage"`)) {
				t.Errorf("the answer is %s", got.body)
			}
			if asked := h.served(); asked != tt.asked {
				t.Errorf("asked %s, want %s", asked, tt.asked)
			}
			if again {
				record := h.records.await(t, 1)[0]
				if record.Status != 200 || record.UpstreamStatus != 200 || record.Refusal != "" || record.Cost.Flag != "exact" {
					t.Errorf("%+v", record)
				}
			}
		})
	}
}

// An account that cannot be reached got nothing.
func TestAnAccountThatCannotBeReachedIsPassedOver(t *testing.T) {
	h, _ := shared(t, []string{"id: a, weight: 1000, url: " + nowhere, "id: b"})
	if got := h.asks(1); got != "200" || h.served() != "b:1" {
		t.Error(got)
	}
	if s := h.standing("a"); s.Failovers["unreachable"] != 1 {
		t.Errorf("%+v", s)
	}
	h, _ = shared(t, []string{"id: a, url: " + nowhere, "id: b, weight: 0"})
	h.ask("POST", textPath, textBody).wants(t, 502, "forward/unreachable", "InternalError")
}

// The answer is the last account's, with the longest wait of those that ask for one; the service's, and so without Sluice-Refusal.
func TestTheLastAnswerHasTheLongestWait(t *testing.T) {
	h, _ := shared(t, []string{"id: a, weight: 1000", "id: b"})
	h.sim.SetFault(throttled("a", "40"), throttled("b", "7"))
	got := h.ask("POST", textPath, textBody)
	if after := got.header.Get("Retry-After"); got.status != 429 || after < "40" || after > "48" || got.header.Get("Sluice-Refusal") != "" ||
		!strings.Contains(got.body, "Throttling.RateQuota") {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
	if asked := h.served(); asked != "a:1 b:1" {
		t.Errorf("asked %s", asked)
	}
	got = h.ask("POST", textPath, textBody)
	got.wants(t, 429, "admit/account", "Throttling.RateQuota")
	if after := got.header.Get("Retry-After"); after != "7" && after != "8" && after != "9" {
		t.Errorf("the shortest wait is 7 s: %s", after)
	}
}

// A request whose body is large is sent whole to each account that is asked.
func TestTheWholeBodyGoesToTheOtherAccount(t *testing.T) {
	h, _ := shared(t, []string{"id: a, weight: 1000", "id: b"})
	h.sim.SetFault(throttled("a", "1"))
	body := strings.Replace(textBody, "rivers", strings.Repeat("rivers ", 200_000), 1)
	if got := h.ask("POST", textPath, body); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	all := h.sim.Requests()
	if len(all) != 2 || all[0].BodySHA256 != hexSHA(body) || all[1].BodySHA256 != hexSHA(body) {
		t.Errorf("%d requests", len(all))
	}
}

// Each attempt has a span of its own, with its account, its address and what became of it.
func TestEachAttemptHasASpan(t *testing.T) {
	h, _ := shared(t, []string{"id: a, weight: 1000", "id: b"})
	h.sim.SetFault(throttled("a", "1"))
	h.ask("POST", textPath, textBody)
	record := h.records.await(t, 1)[0]
	if record.Account != "b" {
		t.Errorf("the log names the account %q", record.Account)
	}
	h.spansNamed(t)
	seen := map[string]string{}
	for _, span := range h.spans.spans {
		told := map[string]string{}
		for _, a := range span.GetAttributes() {
			told[a.GetKey()] = a.GetValue().GetStringValue()
		}
		if account := told["sluice.account"]; account != "" {
			seen[account] = told["error.type"] + " " + told["server.address"]
		}
	}
	if len(seen) != 2 || seen["a"] != "Throttling.RateQuota 127.0.0.1" || seen["b"] != " 127.0.0.1" {
		t.Errorf("spans: %v", seen)
	}
}

// A stream whose first frame is no refusal has begun the work, also if the frame says nothing and the refusal arrives with it. The end of
// a line may be CR LF, and a comment is no frame.
func TestAStreamThatHasBegunIsNotSentAgain(t *testing.T) {
	const (
		empty   = "event:result\ndata:{\"output\":{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":\"null\"}]},\"usage\":{\"input_tokens\":3,\"output_tokens\":2}}\n\n"
		named   = "event:result\ndata:{\"output\":{\"task_id\":\"7f3c\",\"task_status\":\"RUNNING\"},\"usage\":{}}\n\n"
		refused = "event:error\n:HTTP_STATUS/429\ndata:{\"code\":\"Throttling\",\"message\":\"slowly\",\"request_id\":\"r\"}\n\n"
	)
	for name, tt := range map[string]struct {
		body, asked string
	}{
		"a refusal":                    {refused, "b:1"},
		"a refusal with CR LF":         {strings.ReplaceAll(refused, "\n", "\r\n"), "b:1"},
		"an empty frame, then refused": {empty + refused, ""},
		"a task, then refused":         {named + refused, ""},
	} {
		t.Run(name, func(t *testing.T) {
			first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, tt.body)
			}))
			defer first.Close()
			h, _ := shared(t, []string{"id: a, weight: 1000, url: " + first.URL + "/api/v1", "id: b"})
			h.ask("POST", textPath, textBody, "X-Service-SSE", "enable")
			if asked := h.served(); asked != tt.asked {
				t.Errorf("asked %q, want %q", asked, tt.asked)
			}
		})
	}
}
