package messages

import (
	"errors"
	"strings"
	"testing"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
)

func mustRefuse(t *testing.T, body, param string) {
	t.Helper()
	r, err := Read([]byte(body), dialecttest.Models)
	refused, ok := errors.AsType[*conversation.Refusal](err)
	if !ok || r != nil || refused.Status != 400 || refused.Param != param {
		t.Errorf("%v, %+v: want a refusal of %q", r, refused, param)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct{ story, members, param string }{
		{"a member of chats", `"frequency_penalty":1`, "frequency_penalty"},
		{"servers of tools", `"mcp_servers":[{"type":"url"}]`, "mcp_servers"},
		{"a stream that is no truth value", `"stream":"true"`, "stream"},
		{"thinking without a type", `"thinking":{}`, "thinking.type"},
		{"thinking of a kind", `"thinking":{"type":"deep"}`, "thinking.type"},
		{"a system that is none", `"system":1`, "system"},
		{"a picture in the system", `"system":[{"type":"image","source":{"type":"url","url":"a"}}]`, "system[0].type"},
		{"tools that are none", `"tools":{}`, "tools"},
		{"a tool without a name", `"tools":[{"input_schema":{}}]`, "tools[0].name"},
		{"too many tools", `"tools":[` + strings.Repeat(`{"name":"f","input_schema":{}},`, 1024) + `{"name":"g","input_schema":{}}]`,
			"tools[1024]"},
		{"any tool of none", `"tool_choice":{"type":"any"}`, "tool_choice"},
		{"any tool of those that the service lacks", `"tools":[{"type":"bash_20250124","name":"bash"}],"tool_choice":{"type":"any"}`,
			"tool_choice"},
		{"a tool that the service lacks", `"tools":[{"type":"bash_20250124","name":"bash"}],"tool_choice":{"type":"tool","name":"bash"}`,
			"tool_choice.name"},
		{"a tool that is not there", `"tools":[{"name":"f"}],"tool_choice":{"type":"tool","name":"g"}`, "tool_choice.name"},
		{"a choice that is none", `"tool_choice":{"type":"some"}`, "tool_choice.type"},
		{"a member twice", `"top_p":1,"t\u006fp_p":1`, "top_p"},
	} {
		t.Run(c.story, func(t *testing.T) {
			mustRefuse(t, `{"model":"llm-max","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],`+c.members+`}`, c.param)
		})
	}
	for _, c := range []struct{ story, body, param string }{
		{"nothing", ``, ""}, {"an array", `[]`, ""}, {"no model", `{"max_tokens":9,"messages":[]}`, "model"},
		{"no messages", `{"model":"m","max_tokens":9}`, "messages"},
		{"no bound", `{"model":"m","messages":[]}`, "max_tokens"},
		{"too many messages", `{"model":"m","max_tokens":9,"messages":[` + strings.Repeat("0,", 60_000) + `0]}`, "messages"},
	} {
		t.Run(c.story, func(t *testing.T) { mustRefuse(t, c.body, c.param) })
	}
}

func TestMessageRefusals(t *testing.T) {
	for _, c := range []struct{ story, message, param string }{
		{"no object", `"Hi"`, "messages[1]"},
		{"no role", `{"content":"Hi"}`, "messages[1].role"},
		{"an unknown role", `{"role":"tool","content":"Hi"}`, "messages[1].role"},
		{"no content", `{"role":"user"}`, "messages[1].content"},
		{"content twice", `{"role":"user","content":"a","content":"b"}`, "messages[1].content"},
		{"a block that is no object", `{"role":"user","content":["a"]}`, "messages[1].content[0]"},
		{"a document", `{"role":"user","content":[{"type":"document","source":{}}]}`, "messages[1].content[0].type"},
		{"a call of the user", `{"role":"user","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}`, "messages[1].content[0].type"},
		{"a result of the assistant", `{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"t"}]}`, "messages[1].content[0].type"},
		{"a text without a text", `{"role":"user","content":[{"type":"text"}]}`, "messages[1].content[0].text"},
		{"a picture without a source", `{"role":"user","content":[{"type":"image"}]}`, "messages[1].content[0].source"},
		{"a picture that is kept elsewhere", `{"role":"user","content":[{"type":"image","source":{"type":"file","file_id":"f"}}]}`,
			"messages[1].content[0].source"},
		{"a call without an id", `{"role":"assistant","content":[{"type":"tool_use","name":"f","input":{}}]}`, "messages[1].content[0].id"},
		{"a call without a name", `{"role":"assistant","content":[{"type":"tool_use","id":"t","input":{}}]}`, "messages[1].content[0].name"},
		{"a call without an input", `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":"{}"}]}`,
			"messages[1].content[0].input"},
		{"a result of nothing", `{"role":"user","content":[{"type":"tool_result","content":"x"}]}`, "messages[1].content[0].tool_use_id"},
		{"a document in a result", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"document"}]}]}`,
			"messages[1].content[0].content[0].type"},
	} {
		t.Run(c.story, func(t *testing.T) {
			mustRefuse(t, `{"model":"llm-max","max_tokens":9,"messages":[{"role":"user","content":"Hi"},`+c.message+`]}`, c.param)
		})
	}
}

// What the service's request takes is asked for before it is made, and covers it.
func TestRequestsTakeTheirRoom(t *testing.T) {
	full := &conversation.Models{Room: func(int64) bool { return false }}
	if _, err := Read([]byte(`{"model":"m","max_tokens":9,"messages":[]}`), full); !errors.Is(err, conversation.ErrNoRoom) {
		t.Error(err)
	}
	say := func(role, blocks string, n int) string {
		return `{"model":"m","max_tokens":9,"messages":[{"role":"` + role + `","content":[` +
			strings.TrimSuffix(strings.Repeat(blocks+",", n), ",") + `]}]}`
	}
	for story, body := range map[string]string{
		"inputs":        say("assistant", `{"type":"tool_use","id":"","name":"","input":{"":"`+strings.Repeat(`\"\n\\`, 900)+`"}}`, 9),
		"small calls":   say("assistant", `{"type":"tool_use","id":"","name":"","input":{}}`, 900),
		"small results": say("user", `{"type":"tool_result","tool_use_id":""}`, 900),
		"pictures":      say("user", `{"type":"image","source":{"type":"base64","media_type":"","data":""}}`, 900),
		"small tools": `{"model":"m","max_tokens":9,"messages":[],"tools":[` +
			strings.TrimSuffix(strings.Repeat(`{"name":""},`, 900), ",") + `]}`,
	} {
		var asked int64
		r, err := Read([]byte(body), &conversation.Models{Room: func(n int64) bool { asked += n; return true }})
		if err != nil {
			t.Fatal(story, err)
		}
		if int64(cap(r.Body)) > asked {
			t.Errorf("%s: %d bytes were asked for, %d were taken", story, asked, cap(r.Body))
		}
	}
}

// TestTranslationsHoldNoPartOfTheBody: the body's memory is lent to another request once it is translated.
func TestTranslationsHoldNoPartOfTheBody(t *testing.T) {
	body := []byte(`{"model":"llm-max","max_tokens":9,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f"},` +
		`{"type":"web_search_20250305","name":"w"}],"tool_choice":{"type":"tool","name":"f"}}`)
	r, err := Read(body, dialecttest.Models)
	if err != nil {
		t.Fatal(err)
	}
	before := string(r.Body) + strings.Clone(r.Model) + strings.Join(r.Warnings, "")
	for i := range body {
		body[i] = 0xdb
	}
	if after := string(r.Body) + r.Model + strings.Join(r.Warnings, ""); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

func TestParams(t *testing.T) {
	for field, want := range map[string]string{
		"model": "model", "parameters.temperature": "temperature", "parameters.max_completion_tokens": "max_tokens",
		"parameters.stop[1]":         "stop_sequences[1]",
		"parameters.enable_thinking": "thinking.type", "parameters.thinking_budget": "thinking.budget_tokens",
		"parameters.incremental_output":     "stream",
		"parameters.tools[0].function.name": "tools[0].name", "parameters.tools[0].function.parameters": "tools[0].input_schema",
		"parameters.tool_choice": "tool_choice", "input.messages[3].content": "messages", "X-Service-SSE": "", "input.prompt": "", "": "",
	} {
		if got := Param(field); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}

// A refusal names a tool by its place in the client's request, in which tools are that were left out.
func TestToolsAreRefusedByTheClientsPlaces(t *testing.T) {
	const server = `{"type":"web_search_20250305","name":"w"},`
	for want, tools := range map[string]string{
		"tools[0].name":         `{"name":"a.b"}`,
		"tools[1].name":         server + `{"name":"a.b"}`,
		"tools[3].input_schema": server + `{"name":"a"},` + server + `{"type":"custom","name":"b","input_schema":3}`,
	} {
		r, err := Read([]byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}],"tools":[`+tools+`]}`), dialecttest.Models)
		if err != nil {
			t.Fatal(err)
		}
		found := dialecttest.Judged(t, r).Violations
		if len(found) != 1 || r.Places(Param)(found[0].Field) != want {
			t.Errorf("%v, want %s", found, want)
		}
	}
}

// A budget of null is none.
func TestABudgetOfNullIsNone(t *testing.T) {
	r, err := Read([]byte(`{"model":"m","max_tokens":9,"messages":[],"thinking":{"type":"adaptive","budget_tokens":null}}`), dialecttest.Models)
	if err != nil || strings.Contains(string(r.Body), "thinking_budget") {
		t.Errorf("%v %s", err, r.Body)
	}
}

func TestErrors(t *testing.T) {
	for status, kind := range map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
		415: "invalid_request_error",
		422: "invalid_request_error", 429: "rate_limit_error", 500: "api_error", 502: "api_error", 503: "overloaded_error", 504: "api_error",
	} {
		want := `{"type":"error","error":{"type":"` + kind + `","message":"\"m\""},"request_id":"r"}`
		if got := string(AppendError(nil, "r", &conversation.Refusal{Status: status, Message: `"m"`})); got != want {
			t.Errorf("%d: %s, want %s", status, got, want)
		}
	}
	for _, message := range []string{"A name is needed.", "tools[0].name: A name is needed."} {
		got := string(AppendError(nil, "r", &conversation.Refusal{Status: 400, Param: "tools[0].name", Message: message}))
		if !strings.Contains(got, `"message":"tools[0].name: A name is needed."`) {
			t.Errorf("%q became %s", message, got)
		}
	}
}

// A key moves to where keys are looked for, and nowhere else.
func TestKeysArePresented(t *testing.T) {
	for _, c := range []struct {
		story     string
		header    map[string][]string
		presented []string
	}{
		{"x-api-key alone", map[string][]string{"X-Api-Key": {"k"}}, []string{"Bearer k"}},
		{"both", map[string][]string{"X-Api-Key": {"k"}, "Authorization": {"Bearer j"}}, []string{"Bearer j"}},
		{"two keys", map[string][]string{"X-Api-Key": {"k", "l"}}, nil},
		{"none", map[string][]string{}, nil},
	} {
		if Present(c.header); strings.Join(c.header["Authorization"], ",") != strings.Join(c.presented, ",") || c.header["X-Api-Key"] != nil {
			t.Errorf("%s: %v", c.story, c.header)
		}
	}
}
