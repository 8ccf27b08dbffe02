package chat

import (
	"testing"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
)

// Without functions a translation has no aliases and knows no kinds.
func TestNoModels(t *testing.T) {
	r, err := Read([]byte(`{"model":"gpt-4o","messages":[]}`), &conversation.Models{})
	if err != nil || string(r.Body) != `{"model":"gpt-4o","input":{"messages":[]},"parameters":{"result_format":"message"}}` {
		t.Errorf("%s, %v", r.Body, err)
	}
}

func TestParams(t *testing.T) {
	for _, c := range []struct{ field, chat string }{
		{"model", "model"},
		{"parameters.top_p", "top_p"},
		{"parameters.tools[0].function.name", "tools[0].function.name"},
		{"parameters.incremental_output", "stream"},
		{"parameters.stream", "stream"},
		{"input.messages", "messages"},
		{"input.messages[2].role", "messages[2].role"},
		{"input.messages[2].content[0].text", "messages[2].content[0].text"},
		{"input.messages[2].content[1].image", "messages[2].content[1].image_url"},
		{"input.messages[0].content", "messages[0].content"},
		{"input.prompt", ""},
		{"X-Service-SSE", ""},
		{"", ""},
	} {
		if chat := Param(c.field); chat != c.chat {
			t.Errorf("%s: %q, want %q", c.field, chat, c.chat)
		}
	}
}

func TestPassagesKeepTheRules(t *testing.T) { dialecttest.KeepRules(t, "chats", Read) }

// TestFindingsAreMappedBack: a rule names the service's field, and the client reads the name of its own member.
func TestFindingsAreMappedBack(t *testing.T) {
	for member, param := range map[string]string{
		`"top_p":5`: "top_p", `"n":9`: "n", `"tools":[{"type":"custom"}]`: "tools[0].type",
		`"response_format":{"type":"xml"}`: "response_format.type",
		`"stop":[1,"a"]`:                   "stop[0]", `"max_completion_tokens":0`: "max_completion_tokens", `"seed":-1`: "seed",
	} {
		r, err := Read([]byte(`{"model":"llm-max","messages":[{"role":"user","content":"Hi"}],`+member+`}`), dialecttest.Models)
		if err != nil {
			t.Fatal(err)
		}
		params := map[string]bool{}
		verdict := dialecttest.Judged(t, r)
		for _, finding := range verdict.Violations {
			params[Param(finding.Field)] = true
		}
		if !params[param] {
			t.Errorf("%s: %v, want %s of %v", member, params, param, verdict.Violations)
		}
	}
}
