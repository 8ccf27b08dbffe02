package simulator

import (
	"strings"
	"testing"

	"sluice/gateway/simulator/fault"
)

// simulate adds the body's own fault to a chat request.
func simulate(fault string) string {
	return say("hi", `"simulate":`+fault)
}

func TestWaysToAskForAFault(t *testing.T) {
	r := newRig(t, Config{})
	r.post(textPath, simulate(`{"error":{"status":503}}`)).want(t, 503, "ModelUnavailable")
	r.post(textPath, say("hi", ""), "X-Simulate", `{"error":{"status":429}}`).want(t, 429, "Throttling.RateQuota")
	r.SetFault(fault.Fault{Error: &fault.Error{Status: 500}})
	r.post(textPath, say("hi", "")).want(t, 500, "InternalError")
	// The fault in the body replaces the one in the settings.
	r.post(textPath, simulate(`{"error":{"status":503}}`)).want(t, 503, "ModelUnavailable")
	r.post(textPath, simulate(`{"error":{"status":503}}`), "X-Simulate", `{"error":{"status":429}}`).want(t, 429, "Throttling.RateQuota")
	if g := r.post(textPath, simulate(`{}`)); g.status != 200 {
		t.Errorf("an empty fault in the body leaves the settings' fault in force: %d", g.status)
	}
	r.SetFault()
	if g := r.post(textPath, say("hi", "")); g.status != 200 {
		t.Errorf("without a fault: %d", g.status)
	}
}

func TestBrokenFaultIsRefused(t *testing.T) {
	r := newRig(t, Config{})
	r.post(textPath, simulate(`{"eror":{}}`)).want(t, 400, "InvalidParameter")
	r.get(tasksPath, "X-Simulate", `{"eror":{}}`).want(t, 400, "InvalidParameter")
}

func TestFaultNeedsAKey(t *testing.T) {
	r := newRig(t, Config{})
	r.SetFault(fault.Fault{Error: &fault.Error{Status: 503}})
	r.post(textPath, say("hi", ""), "Authorization", "Bearer x").want(t, 401, "InvalidApiKey")
}

func TestFaultOnSkipTimes(t *testing.T) {
	refuse := &fault.Error{Status: 503}
	for _, tt := range []struct {
		name   string
		faults []fault.Fault
		want   string // by request: the text path; x is a refusal
	}{
		{"always", []fault.Fault{{Error: refuse}}, "xxxx"},
		{"elsewhere", []fault.Fault{{On: EndpointTask, Error: refuse}}, "...."},
		{"here", []fault.Fault{{On: EndpointText, Error: refuse}}, "xxxx"},
		{"twice", []fault.Fault{{Times: 2, Error: refuse}}, "xx.."},
		{"after one", []fault.Fault{{Skip: 1, Error: refuse}}, ".xxx"},
		{"once after two", []fault.Fault{{Skip: 2, Times: 1, Error: refuse}}, "..x."},
		{"the first that applies", []fault.Fault{{Times: 1}, {Times: 2, Error: refuse}}, ".xx."},
	} {
		r := newRig(t, Config{})
		r.SetFault(tt.faults...)
		var got strings.Builder
		for range tt.want {
			if r.post(textPath, say("hi", "")).status == 200 {
				got.WriteByte('.')
			} else {
				got.WriteByte('x')
			}
		}
		if got.String() != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, &got, tt.want)
		}
	}
}

func TestResetForgetsFaults(t *testing.T) {
	r := newRig(t, Config{})
	r.SetFault(fault.Fault{Error: &fault.Error{}})
	r.Reset()
	if g := r.post(textPath, say("hi", "")); g.status != 200 {
		t.Errorf("after Reset: %d", g.status)
	}
}

func TestErrorFault(t *testing.T) {
	r := newRig(t, Config{})
	g := r.post(textPath, simulate(`{"error":{"status":429,"code":"Throttling.AllocationQuota","message":"too much","usage":{"total_tokens":5}},"retry_after":"7"}`))
	g.want(t, 429, "Throttling.AllocationQuota")
	if g.header.Get("Retry-After") != "7" || at(g.object(t), "message") != "too much" || at(g.object(t), "usage", "total_tokens") != 5. {
		t.Errorf("got %v %s", g.header, g.body)
	}
	if got := r.Requests()[0]; got.Status != 429 || got.Executed {
		t.Errorf("recorded as %+v", got)
	}
	if got := r.Tally(); got.Tokens != 0 || got.Executed[EndpointText] != 0 {
		t.Errorf("a refusal costs %+v", got)
	}
}

func TestExecutedError(t *testing.T) {
	r := newRig(t, Config{})
	r.post(textPath, simulate(`{"error":{"status":500,"executed":true}}`)).want(t, 500, "InternalError")
	if got := r.Tally(); got.Tokens == 0 || got.Executed[EndpointText] != 1 {
		t.Errorf("work done behind an error costs %+v", got)
	}
	r.post(imagePath, edit(`"simulate":{"error":{"status":500,"executed":true}}`), async...).want(t, 500, "InternalError")
	if got := at(r.get(tasksPath).object(t), "total"); got != 1. {
		t.Errorf("there are %v tasks behind the error, want one", got)
	}
}

func TestErrorFaultInAStream(t *testing.T) {
	r := newRig(t, Config{})
	for _, tt := range []struct {
		name, fault string
		frames      int // results before the error
	}{
		{"before content", `{"error":{"status":429}}`, 0},
		{"in the middle", `{"error":{"status":429},"after":3}`, 3},
	} {
		events := r.post(textPath, simulate(tt.fault), sse...).events(t)
		last := events[len(events)-1]
		if len(events) != tt.frames+1 || last.name != "error" || last.status != "429" || !strings.HasPrefix(last.data, `{"code":"Throttling.RateQuota","message":`) {
			t.Errorf("%s: %d frames, the last %+v", tt.name, len(events), last)
		}
	}
	r.post(textPath, simulate(`{"error":{"status":429,"plain":true}}`), sse...).want(t, 429, "Throttling.RateQuota")
	// A whole answer has no middle.
	r.post(textPath, simulate(`{"error":{"status":429},"after":3}`)).want(t, 429, "Throttling.RateQuota")
}

func TestErrorAtTheEndOfAStream(t *testing.T) {
	r := newRig(t, Config{})
	whole := len(r.post(textPath, say("hi", ""), sse...).events(t))
	events := r.post(textPath, simulate(`{"error":{},"after":9999}`), sse...).events(t)
	if len(events) != whole+1 || events[whole].name != "error" {
		t.Errorf("%d frames, want %d and an error", len(events), whole)
	}
}

func TestMidStreamErrorIsBilledAsFarAsItCame(t *testing.T) {
	r := newRig(t, Config{})
	events := r.post(textPath, simulate(`{"error":{},"after":3}`), sse...).events(t)
	told := at(events[2].object(t), "usage", "total_tokens").(float64)
	if got := r.Tally().Tokens; got != int64(told) {
		t.Errorf("billed %d tokens, told %v", got, told)
	}
}
