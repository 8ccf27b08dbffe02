package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/telemetry"
)

// TestRecordSaysWhyItWasRefused: the message that the client got, and the limit as it stood then, also if the refusal was remembered.
func TestRecordSaysWhyItWasRefused(t *testing.T) {
	h, _ := stopped(t, "open_tasks: 1", "quotas: {requests: {day: 2}}")
	tasks := telemetry.Limit{Name: "open_tasks", Scope: "team", Unit: "open_tasks", Used: 1, Limit: 1, Asked: 1}
	day := telemetry.Limit{Name: "requests-day", Scope: "team", Unit: "requests", Per: "day", Used: 1, Held: 1, Limit: 2, Asked: 1}
	broken := strings.Replace(textBody, `{"model"`, `{"parameters":{"top_p":7},"model"`, 1)
	for n, tt := range []struct {
		path, body string
		status     int
		limit      telemetry.Limit
	}{
		{imagePath, imageBody, 200, telemetry.Limit{}},
		{imagePath, imageBody, 429, tasks},
		{textPath, broken, 400, telemetry.Limit{}},
		{textPath, textBody, 200, telemetry.Limit{}},
		{textPath, textBody, 429, day},
		{textPath, textBody, 429, day},
	} {
		var headers []string
		if tt.path == imagePath {
			headers = []string{"X-Service-Async", "enable"}
		}
		got, said := h.ask("POST", tt.path, tt.body, headers...), struct{ Message string }{}
		record := h.records.await(t, n+1)[n]
		if json.Unmarshal([]byte(got.body), &said) != nil || got.status != tt.status ||
			record.Reason != strings.ReplaceAll(said.Message, `"parameters"`, `"…"`) || (said.Message != "") != (tt.status >= 400) {
			t.Errorf("request %d: %d %s, the record says %q", n, got.status, got.body, record.Reason)
		}
		if diff := cmp.Diff(tt.limit, record.Limit); diff != "" {
			t.Errorf("request %d: %s", n, diff)
		}
	}
}

// TestRecordHasNoNameThatAClientChose: a client may write anything as the name of a member or of a tool, such as a customer's.
func TestRecordHasNoNameThatAClientChose(t *testing.T) {
	const name = "Jane Doe"
	h := fronted(t)
	for n, tt := range []struct{ path, body, members string }{
		{frontMessages, frontMessage, `"Jane Doe":1`},
		{frontResponses, frontResponse, `"Jane Doe":1`},
		{frontResponses, frontResponse, `"text":{"Jane Doe":1}`},
		{frontMessages, frontMessage, `"tool_choice":{"type":"tool","name":"Jane Doe"}`},
		{frontResponses, frontResponse, `"tool_choice":{"type":"function","name":"Jane Doe"}`},
	} {
		got := h.ask("POST", tt.path, strings.Replace(tt.body, "{", "{"+tt.members+",", 1))
		record := h.records.await(t, n+1)[n]
		if got.status != 400 || !strings.Contains(got.body, name) || record.Reason == "" || strings.Contains(record.Reason, name) {
			t.Errorf("%s: %d %s, the record says %q", tt.members, got.status, got.body, record.Reason)
		}
	}
}

// onceBroken panics at its second write.
type onceBroken struct {
	http.ResponseWriter
	writes int
}

func (w *onceBroken) Write(p []byte) (int, error) {
	if w.writes++; w.writes == 2 {
		panic("canary")
	}
	return w.ResponseWriter.Write(p)
}

func (w *onceBroken) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// A fault of the gateway inside a stream is not told as one of the service.
func TestAFaultInsideAStreamIsTheGateways(t *testing.T) {
	h := fronted(t, func(p *plan) {
		p.wrap = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(&onceBroken{ResponseWriter: w}, r) })
		}
	})
	got := h.ask("POST", frontChats, frontStream)
	const says = "The gateway failed"
	if record := h.recordOf(t, got); got.status != 200 || !strings.Contains(got.body, says) ||
		strings.Contains(got.body, "service's answer") || record.Refusal != "observe/panic" || !strings.HasPrefix(record.Reason, says) {
		t.Errorf("%d %s, record %q %q", got.status, got.body, record.Refusal, record.Reason)
	}
}
