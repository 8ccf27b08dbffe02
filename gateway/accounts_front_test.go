package gateway_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"sluice/gateway/simulator"
	"sluice/policy/account"
)

// sharedFront is a gateway with OpenAI's interface and several accounts, whose service makes pictures in a moment.
func sharedFront(t *testing.T, lines ...string) *harness {
	t.Helper()
	return painting(t, func(p *plan) {
		p.service = accountsOf(t, lines...)
		if strings.Contains(strings.Join(lines, " "), "weight: 1000") { // a tie goes to the other once in a thousand times
			p.config.ChooseFirst()
		}
		p.sim.Keys, p.sim.Accounts = nil, map[string]simulator.Account{}
		for id, key := range p.service.Keys {
			p.sim.Accounts[id] = simulator.Account{Keys: []string{key.Reveal()}, TaskRate: -1}
		}
	})
}

// Through OpenAI's interface a request goes on with another account as through the service's own, in an answer and in a stream. The client
// sees the last account's answer in OpenAI's form.
func TestFrontGoesOnWithAnotherAccount(t *testing.T) {
	streamed := strings.Replace(frontChat, `"messages"`, `"stream":true,"messages"`, 1)
	for _, tt := range []struct {
		name, path, body string
		fault            simulator.FaultError
	}{
		{"a chat", frontChats, frontChat, simulator.FaultError{Code: "Throttling.RateQuota"}},
		{"a chat, its key", frontChats, frontChat, simulator.FaultError{Status: 401, Plain: true}},
		{"a stream", frontChats, streamed, simulator.FaultError{Code: "Throttling.RateQuota"}},
		{"a stream, its bill", frontChats, streamed, simulator.FaultError{Code: "Arrearage", Status: 400}},
		{"pictures by a task", frontImages, frontPicture, simulator.FaultError{Code: "Throttling.AllocationQuota"}},
		{"pictures in the answer", frontImages, frontSync, simulator.FaultError{Code: "Arrearage", Status: 400}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := sharedFront(t, "id: a, weight: 1000", "id: b")
			h.sim.SetFault(simulator.Fault{Account: "a", On: simulator.EndpointModels, Error: &tt.fault})
			got := h.ask("POST", tt.path, tt.body)
			if got.status != 200 || got.err != nil || strings.Contains(got.body, `"error"`) {
				t.Errorf("%d %v %s", got.status, got.err, got.body)
			}
			if record := h.recordOf(t, got); record.Account != "b" || record.Refusal != "" || record.Front != frontWord(tt.path) {
				t.Errorf("%+v", record)
			}
			if asked := h.served(); !strings.HasPrefix(asked, "a:1 b:") {
				t.Errorf("asked %s", asked)
			}
			if s := h.standing("a"); s.State == account.OK || s.InFlight != 0 || h.standing("b").InFlight != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// The error of the last account has the longest wait, in OpenAI's form too, also where it was a stream's first event.
func TestFrontTellsTheLongestWait(t *testing.T) {
	for name, body := range map[string]string{"a chat": frontChat,
		"a stream": strings.Replace(frontChat, `"messages"`, `"stream":true,"messages"`, 1)} {
		t.Run(name, func(t *testing.T) {
			h := sharedFront(t, "id: a, weight: 1000", "id: b")
			h.sim.SetFault(throttled("a", "40"), throttled("b", ""))
			got := h.ask("POST", frontChats, body)
			got.wantsOpenAI(t, 429, "rate_limit_error", "Throttling.RateQuota", "")
			if after := got.header.Get("Retry-After"); after < "40" || after > "48" {
				t.Errorf("Retry-After %q", after)
			}
		})
	}
}

// The reset of a used quota takes long, however soon its account is asked again.
func TestAUsedQuotaOfTheServiceTakesLong(t *testing.T) {
	for _, lines := range [][]string{{"id: a"}, {"id: a", "id: b"}} {
		h := sharedFront(t, lines...)
		used := simulator.Fault{On: simulator.EndpointModels, Error: &simulator.FaultError{Code: "Throttling.AllocationQuota"}}
		for _, c := range []struct{ path, body, model string }{
			{textPath, textBody, "llm-max"}, {frontChats, frontChat, "llm-plus"}, {frontChats, frontStream, "llm-turbo"},
		} {
			h.sim.SetFault(used)
			got := h.ask("POST", c.path, strings.Replace(c.body, "llm-max", c.model, 1))
			if after, _ := strconv.Atoi(got.header.Get("Retry-After")); got.status != 429 || after < 300 || after > 360 {
				t.Errorf("%v %s: %d %v", lines, c.model, got.status, got.header)
			}
		}
	}
}

// A task that was made through OpenAI's interface stays with its account, which its polls name.
func TestFrontTasksStayWithTheirAccount(t *testing.T) {
	h := sharedFront(t, "id: a, weight: 1000", "id: b")
	made := h.ask("POST", frontImages, frontPicture)
	task := made.header.Get("Sluice-Task")
	if record := h.recordOf(t, made); record.Account != "a" || task == "" {
		t.Fatalf("%+v", record)
	}
	h.served()
	h.gateway.SetUpstream(accountsOf(t, "id: a, weight: 0", "id: b"))
	h.sim.SetFault(throttled("a", "600"))
	for _, path := range []string{frontTasks, tasksPath + "/"} {
		got := h.ask("GET", path+task, "")
		if record := h.recordOf(t, got); got.status != 200 || record.Account != "a" {
			t.Errorf("%s: %d, the log names the account %q", path, got.status, record.Account)
		}
	}
	if got := h.ask("POST", frontImages, frontPicture); h.recordOf(t, got).Account != "b" || strings.Contains(h.served(), "a:") {
		t.Errorf("new work goes elsewhere: %d %s", got.status, got.body)
	}
}

// The requests about a task name its account in the log, asked or not, and so do the spans of those that ask it. Without an accounts file
// none is named.
func TestRequestsAboutATaskNameItsAccount(t *testing.T) {
	h, clock := shared(t, []string{"id: a, weight: 1000", "id: b"})
	id, other := h.create(t), h.create(t)
	h.gateway.SetUpstream(accountsOf(t, "id: a, weight: 0", "id: b"))
	clock.move(6 * time.Second)
	for about, got := range map[string]reading{
		"a query": h.poll(id), "a known answer": h.poll(id), "a cancel": h.cancel(other), "the end": h.poll(other),
		"an encrypted poll": h.poll(id, "X-Service-Encryption-Public-Key", "key"),
	} {
		if record := h.recordOf(t, got); record.Account != "a" || record.Task == "" {
			t.Errorf("%s (%d): the log names the account %q", about, got.status, record.Account)
		}
	}
	if record := h.recordOf(t, h.poll("7f3c5e0e-1111-2222-3333-444455556666")); record.Account != "" {
		t.Errorf("a poll of no task names the account %q", record.Account)
	}
	h.gateway.SetUpstream(accountsOf(t, "id: b"))
	if record := h.recordOf(t, h.poll(id)); record.Account != "a" {
		t.Errorf("a task of an account that was removed: %q", record.Account)
	}
	h.spansNamed(t)
	asked := map[string]int{}
	for _, span := range h.spans.spans {
		if told := attributesOf(span); span.GetKind() == tracepb.Span_SPAN_KIND_CLIENT {
			asked[span.GetName()+" "+told["sluice.account"]]++
		}
	}
	if len(asked) != 3 || asked["generate_content gen2.6-image a"] != 2 || asked["fetch_response gen2.6-image a"] == 0 ||
		asked["POST tasks/{id}/cancel a"] != 1 {
		t.Errorf("the spans of calls of the service, with their accounts: %v", asked)
	}

	alone, _ := tasked(t)
	if record := alone.recordOf(t, alone.poll(alone.create(t))); record.Account != "" {
		t.Errorf("the only account is named %q", record.Account)
	}
}
