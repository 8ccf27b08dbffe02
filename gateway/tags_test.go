package gateway_test

import (
	"strings"
	"testing"
	"time"

	"sluice/policy/limit"
)

// TestTags: they go to the log, the span and the ledger, of synchronous requests and of tasks, by either interface, and not to the
// service.
func TestTags(t *testing.T) {
	h := build(t, func(p *plan) { p.limits = []string{"tag_key: project"}; p.config.OpenAI = true })
	key := "Bearer " + h.keys["search"]
	for _, tt := range []struct{ path, body, tags, async string }{
		{textPath, textBody, "project=alpha,user=42", ""},
		{"/v1/chat/completions", `{"model":"llm-max","messages":[{"role":"user","content":"Rivers."}]}`, "user=42, project=alpha", ""},
		{imagePath, imageBody, "project=beta", "enable"},
		{textPath, textBody, "user=42", ""},
		{textPath, textBody, "", ""},
	} {
		headers := []string{"Authorization", key, "Sluice-Tag", tt.tags}
		if tt.tags == "" {
			headers = headers[:2]
		}
		if tt.async != "" {
			headers = append(headers, "X-Service-Async", tt.async)
		}
		if got := h.ask("POST", tt.path, tt.body, headers...); got.status != 200 {
			t.Fatalf("%s %d %s", tt.path, got.status, got.body)
		}
	}
	for i, r := range h.records.await(t, 5) {
		if want := []string{"project=alpha,user=42", "user=42,project=alpha", "project=beta", "user=42", ""}[i]; r.Tags != want {
			t.Errorf("request %d: the log has the tags %q, want %q", i, r.Tags, want)
		} else if line := string(r.AppendLine(nil)); want != "" && !strings.Contains(line, `,"tag":"`+want+`"`) {
			t.Errorf("request %d: the line is %s", i, line)
		}
	}
	for _, r := range h.sim.Requests() {
		if r.Header.Get("Sluice-Tag") != "" {
			t.Error("the service was sent the tags")
		}
	}
	now := time.Now().UTC()
	today := []int{now.Year()*10000 + int(now.Month())*100 + now.Day()}
	rows, err := h.accounts.Rows(t.Context(), limit.Query{Teams: []string{"search"}, Days: today, Tags: true})
	if err != nil || len(rows) == 0 || rows[0].Tag != "alpha" || rows[0].Used[limit.Requests] != 2 {
		t.Errorf("%+v, %v", rows, err)
	}
}

func TestBrokenTagsAreRefused(t *testing.T) {
	h := build(t)
	got := h.ask("POST", textPath, textBody, "Authorization", "Bearer "+h.keys["search"], "Sluice-Tag", "Project=alpha")
	got.wants(t, 400, "authenticate/tags", "InvalidParameter")
	if !strings.Contains(got.body, "Header Sluice-Tag: pair 1 is not valid, allowed: name=value of at most 64 bytes") {
		t.Error(got.body)
	}
}
