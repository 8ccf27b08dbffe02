package fault

import (
	"encoding/json"
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
			Fault{Error: &Error{Status: 429, Code: "Throttling", Message: "m", Usage: json.RawMessage(`{"a":1}`), Executed: true, Plain: true}, After: 2}},
		{"breaks", `{"cut":"reset","stall":"headers","drop":"close"}`, Fault{Cut: "reset", Stall: "headers", Drop: "close"}},
		{"strange answers", `{"informational":9,"upgrade":true,"redirect":"http://a","endless":true,"gzip":true,"body":"oops","content_type":"a/b"}`,
			Fault{Informational: 9, Upgrade: true, Redirect: "http://a", Endless: true, Gzip: true, Body: &body, ContentType: "a/b"}},
		{"headers", `{"header":{"A":"b"},"retry_after":"3"}`, Fault{Header: map[string]string{"A": "b"}, RetryAfter: "3"}},
		{"bytes", `{"write_bytes":7,"pad_bytes":8}`, Fault{WriteBytes: 7, PadBytes: 8}},
		{"lies", `{"no_usage":true,"usage":[{"a":1},null],"task_id":"x"}`,
			Fault{NoUsage: true, Usage: []json.RawMessage{json.RawMessage(`{"a":1}`), json.RawMessage(`null`)}, TaskID: "x"}},
		{"task", `{"task":{"pending_ms":1000,"running_ms":0,"outcome":"partial","failed":2,"code":"c","message":"m","states":["A"],"image_count":3,"no_image_count":true}}`,
			Fault{Task: &Task{Pending: &sec, Running: &none, Outcome: "partial", Failed: 2, Code: "c", Message: "m", States: []string{"A"}, ImageCount: &count, NoImageCount: true}}},
		{"poll", `{"poll":{"error":{"status":503},"delay_ms":1000}}`, Fault{Poll: &Fault{Error: &Error{Status: 503}, Delay: time.Second}}},
		{"where and when", `{"on":"task","skip":1,"times":2}`, Fault{On: "task", Skip: 1, Times: 2}},
	} {
		got, err := Parse([]byte(tt.text))
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
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
