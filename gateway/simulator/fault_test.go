package simulator

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseFault(t *testing.T) {
	sec, none, count, body := time.Second, time.Duration(0), 3, "oops"
	for _, tt := range []struct {
		name, text string
		want       Fault
	}{
		{"nothing", `{}`, Fault{}},
		{"times", `{"delay_ms":1500,"header_delay_ms":20,"frame_delay_ms":3}`,
			Fault{Delay: 1500 * time.Millisecond, HeaderDelay: 20 * time.Millisecond, FrameDelay: 3 * time.Millisecond}},
		{"error", `{"error":{"status":429,"code":"Throttling","message":"m","usage":{"a":1},"executed":true,"plain":true},"after":2}`,
			Fault{Error: &FaultError{Status: 429, Code: "Throttling", Message: "m", Usage: json.RawMessage(`{"a":1}`), Executed: true, Plain: true}, After: 2}},
		{"breaks", `{"cut":"reset","stall":"headers","drop":"close"}`, Fault{Cut: "reset", Stall: "headers", Drop: "close"}},
		{"strange answers", `{"informational":9,"upgrade":true,"redirect":"http://a","endless":true,"gzip":true,"body":"oops","content_type":"a/b"}`,
			Fault{Informational: 9, Upgrade: true, Redirect: "http://a", Endless: true, Gzip: true, Body: &body, ContentType: "a/b"}},
		{"headers", `{"header":{"A":"b"},"retry_after":"3"}`, Fault{Header: map[string]string{"A": "b"}, RetryAfter: "3"}},
		{"bytes", `{"write_bytes":7,"pad_bytes":8}`, Fault{WriteBytes: 7, PadBytes: 8}},
		{"lies", `{"no_usage":true,"usage":[{"a":1},null],"task_id":"x"}`,
			Fault{NoUsage: true, Usage: []json.RawMessage{json.RawMessage(`{"a":1}`), json.RawMessage(`null`)}, TaskID: "x"}},
		{"task", `{"task":{"pending_ms":1000,"running_ms":0,"outcome":"partial","failed":2,"code":"c","message":"m","states":["A"],"image_count":3,"no_image_count":true}}`,
			Fault{Task: &FaultTask{Pending: &sec, Running: &none, Outcome: "partial", Failed: 2, Code: "c", Message: "m", States: []string{"A"}, ImageCount: &count, NoImageCount: true}}},
		{"poll", `{"poll":{"error":{"status":503},"delay_ms":1000}}`, Fault{Poll: &Fault{Error: &FaultError{Status: 503}, Delay: time.Second}}},
		{"where and when", `{"on":"task","skip":1,"times":2}`, Fault{On: "task", Skip: 1, Times: 2}},
	} {
		got, err := parseFault([]byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, *got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestParseFaultRefusesTypingErrors(t *testing.T) {
	for _, text := range []string{
		`{"dealy_ms":1}`, `{"task":{"outcom":"fail"}}`, `{"error":{"stat":1}}`, `{"poll":{"x":1}}`,
		`{"cut":"off"}`, `{"stall":"now"}`, `{"drop":"it"}`, `{"task":{"outcome":"good"}}`,
		`{"delay_ms":"1s"}`, `[]`, `7`, `{`, ``,
	} {
		if _, err := parseFault([]byte(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// simulate adds the body's own fault to a chat request.
func simulate(fault string) string {
	return say("hi", `"simulate":`+fault)
}

func TestWaysToAskForAFault(t *testing.T) {
	r := newRig(t, Config{})
	r.post(textPath, simulate(`{"error":{"status":503}}`)).want(t, 503, "ModelUnavailable")
	r.post(textPath, say("hi", ""), "X-Simulate", `{"error":{"status":429}}`).want(t, 429, "Throttling.RateQuota")
	r.SetFault(Fault{Error: &FaultError{Status: 500}})
	r.post(textPath, say("hi", "")).want(t, 500, "InternalError")
	// The nearer one wins, and stands alone.
	r.post(textPath, simulate(`{"error":{"status":503}}`)).want(t, 503, "ModelUnavailable")
	r.post(textPath, simulate(`{"error":{"status":503}}`), "X-Simulate", `{"error":{"status":429}}`).want(t, 429, "Throttling.RateQuota")
	if g := r.post(textPath, simulate(`{}`)); g.status != 200 {
		t.Errorf("an empty fault in the body leaves the setting in force: %d", g.status)
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
	r.SetFault(Fault{Error: &FaultError{Status: 503}})
	r.post(textPath, say("hi", ""), "Authorization", "Bearer x").want(t, 401, "InvalidApiKey")
}

func TestFaultOnSkipTimes(t *testing.T) {
	refuse := &FaultError{Status: 503}
	for _, tt := range []struct {
		name   string
		faults []Fault
		want   string // by request: the text path, x is a refusal
	}{
		{"always", []Fault{{Error: refuse}}, "xxxx"},
		{"elsewhere", []Fault{{On: EndpointTask, Error: refuse}}, "...."},
		{"here", []Fault{{On: EndpointText, Error: refuse}}, "xxxx"},
		{"twice", []Fault{{Times: 2, Error: refuse}}, "xx.."},
		{"after one", []Fault{{Skip: 1, Error: refuse}}, ".xxx"},
		{"once after two", []Fault{{Skip: 2, Times: 1, Error: refuse}}, "..x."},
		{"the first that applies", []Fault{{Times: 1}, {Times: 2, Error: refuse}}, ".xx."},
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
	r.SetFault(Fault{Error: &FaultError{}})
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
