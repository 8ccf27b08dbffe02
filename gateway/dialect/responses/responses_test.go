package responses

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
	if !ok || r != nil {
		t.Fatalf("%v, %v: want a refusal of %q", r, err, param)
	}
	if refused.Status != 400 || refused.Param != param || refused.Code != "InvalidParameter" {
		t.Errorf("%d, %q, %q: %s; want the param %q", refused.Status, refused.Code, refused.Param, refused.Message, param)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct{ story, members, param string }{
		{"a member that chats pass on", `"top_k":3`, "top_k"},
		{"a member of chats", `"messages":[]`, "messages"},
		{"a bound of calls", `"max_tool_calls":1`, "max_tool_calls"},
		{"an earlier response", `"previous_response_id":"resp_1"`, "previous_response_id"},
		{"a conversation", `"conversation":{"id":"conv_1"}`, "conversation"},
		{"a run in the background", `"background":true`, "background"},
		{"a stored prompt", `"prompt":{"id":"pmpt_1"}`, "prompt"},
		{"a truncation", `"truncation":"middle"`, "truncation"},
		{"a stream that is no truth value", `"stream":"true"`, "stream"},
		{"parallel calls that are no truth value", `"parallel_tool_calls":1`, "parallel_tool_calls"},
		{"instructions that are no text", `"instructions":["a"]`, "instructions"},
		{"a text that is no object", `"text":"json"`, "text"},
		{"a member of text", `"text":{"tone":"x"}`, "text.tone"},
		{"a format that is no object", `"text":{"format":"json"}`, "text.format"},
		{"a member of text twice", `"text":{"format":{"type":"text"},"format":{"type":"json_object"}}`, "text.format"},
		{"an effort that is no word", `"reasoning":{"effort":3}`, "reasoning.effort"},
		{"a long effort", `"reasoning":{"effort":"` + strings.Repeat("x", 257) + `"}`, "reasoning.effort"},
		{"a member of reasoning", `"reasoning":{"depth":3}`, "reasoning.depth"},
		{"tools that are none", `"tools":{}`, "tools"},
		{"a tool that is none", `"tools":["x"]`, "tools[0]"},
		{"a tool without a type", `"tools":[{"name":"x"}]`, "tools[0].type"},
		{"a tool without a name", `"tools":[{"type":"function"}]`, "tools[0].name"},
		{"a tool of a namespace without a name", `"tools":[{"type":"namespace","name":"n","tools":[{"type":"custom"}]}]`,
			"tools[0].tools[0].name"},
		{"a tool with a long name", `"tools":[{"type":"custom","name":"` + strings.Repeat("x", 257) + `"}]`, "tools[0].name"},
		{"a function and a custom tool of one name", `"tools":[{"type":"function","name":"f"},{"type":"function","name":"g"},` +
			`{"type":"custom","name":"\u0066"}]`, "tools[2].name"},
		{"a namespace in another one", `"tools":[{"type":"namespace","name":"n","tools":[{"type":"namespace","name":"m","tools":[]}]}]`,
			"tools[0].tools[0].type"},
		{"too many tools", `"tools":[` + strings.Repeat(`{"type":"function","name":"f"},`, 1024) + `{"type":"web_search"}]`, "tools[1024]"},
		{"any tool of none", `"tool_choice":"required"`, "tool_choice"},
		{"any tool of those that the service lacks", `"tools":[{"type":"web_search"}],"tool_choice":"required"`, "tool_choice"},
		{"a tool that the service lacks", `"tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"}`, "tool_choice"},
		{"some tools", `"tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[]}`, "tool_choice"},
		{"a tool that is not there", `"tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function","name":"g"}`, "tool_choice"},
		{"a choice that is none", `"tool_choice":3`, "tool_choice"},
		{"a member twice", `"top_p":1,"t\u006fp_p":1`, "top_p"},
	} {
		t.Run(c.story, func(t *testing.T) { mustRefuse(t, `{"model":"llm-max","input":"Hi",`+c.members+`}`, c.param) })
	}
}

func TestBodyRefusals(t *testing.T) {
	for _, c := range []struct{ story, body, param string }{
		{"nothing", ``, ""},
		{"an array", `[]`, ""},
		{"cut", `{"model":"llm-max"`, ""},
		{"no model", `{"input":"Hi"}`, "model"},
		{"no input", `{"model":"llm-max"}`, "input"},
		{"an input that is none", `{"model":"llm-max","input":{}}`, "input"},
		{"too many items", `{"model":"llm-max","input":[` + strings.Repeat("0,", 60_000) + `0]}`, "input"},
	} {
		t.Run(c.story, func(t *testing.T) { mustRefuse(t, c.body, c.param) })
	}
}

func TestItemRefusals(t *testing.T) {
	for _, c := range []struct{ story, item, param string }{
		{"no object", `"Hi"`, "input[1]"},
		{"no role", `{"content":"Hi"}`, "input[1].role"},
		{"an unknown role", `{"role":"tool","content":"Hi"}`, "input[1].role"},
		{"no content", `{"role":"user"}`, "input[1].content"},
		{"content twice", `{"role":"user","content":"a","content":"b"}`, "input[1].content"},
		{"an item that is kept elsewhere", `{"type":"item_reference","id":"msg_1"}`, "input[1].type"},
		{"a search of another service", `{"type":"web_search_call","id":"ws_1"}`, "input[1].type"},
		{"a part that is no object", `{"role":"user","content":["a"]}`, "input[1].content[0]"},
		{"a file", `{"role":"user","content":[{"type":"input_file","file_id":"f"}]}`, "input[1].content[0].type"},
		{"a part of a chat", `{"role":"user","content":[{"type":"text","text":"a"}]}`, "input[1].content[0].type"},
		{"a refusal", `{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}`, "input[1].content[0].type"},
		{"a picture that is kept elsewhere", `{"role":"user","content":[{"type":"input_image","file_id":"f"}]}`, "input[1].content[0].file_id"},
		{"a picture without an address", `{"role":"user","content":[{"type":"input_image","detail":"low"}]}`, "input[1].content[0].image_url"},
		{"a text part without a text", `{"role":"user","content":[{"type":"input_text"}]}`, "input[1].content[0].text"},
		{"a call without an id", `{"type":"function_call","name":"f","arguments":"{}"}`, "input[1].call_id"},
		{"a call without a name", `{"type":"function_call","call_id":"c","arguments":"{}"}`, "input[1].name"},
		{"a call without arguments", `{"type":"function_call","call_id":"c","name":"f","arguments":{}}`, "input[1].arguments"},
		{"a custom call without an input", `{"type":"custom_tool_call","call_id":"c","name":"f"}`, "input[1].input"},
		{"an output of nothing", `{"type":"function_call_output","output":"x"}`, "input[1].call_id"},
		{"an output that is none", `{"type":"function_call_output","call_id":"c","output":3}`, "input[1].output"},
	} {
		t.Run(c.story, func(t *testing.T) {
			mustRefuse(t, `{"model":"llm-max","input":[{"role":"system","content":"Be brief."},`+c.item+`]}`, c.param)
		})
	}
}

// What the service's request and the answer's echo take is asked for before they are made, and covers them.
func TestRequestsTakeTheirRoom(t *testing.T) {
	full := &conversation.Models{Room: func(int64) bool { return false }}
	if _, err := Read([]byte(`{"model":"m","input":"Hi"}`), full); !errors.Is(err, conversation.ErrNoRoom) {
		t.Error(err)
	}
	hard := strings.Repeat(`\"\n\\`, 5000)
	for story, body := range map[string]string{
		"custom calls": `{"model":"m","input":[{"type":"custom_tool_call","call_id":"c","name":"f","input":"` + hard + `"}]}`,
		"small calls": `{"model":"m","input":[` + strings.TrimSuffix(
			strings.Repeat(`{"type":"function_call","call_id":"","name":"","arguments":""},`, 900), ",") + `]}`,
		"small tools": `{"model":"m","input":"","tools":[` + strings.TrimSuffix(strings.Repeat(`{"type":"custom","name":""},`, 900), ",") + `]}`,
		"a grammar": `{"model":"m","input":"","tools":[{"type":"custom","name":"f","format":{"type":"grammar","syntax":"lark","definition":"` +
			hard + `"}}]}`,
		"a schema":      `{"model":"m","input":"","text":{"format":{"type":"json_schema","schema":{"description":"` + hard + `"}}}}`,
		"a temperature": `{"model":"m","input":"","temperature":"` + hard + `"}`, // which the rules refuse later
		"a choice": `{"model":"m","input":"","tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function","name":"f","x":"` +
			hard + `"}}`,
	} {
		var asked int64
		r, err := Read([]byte(body), &conversation.Models{Room: func(n int64) bool { asked += n; return true }})
		if err != nil {
			t.Fatal(story, err)
		}
		a := r.Dialect.(*Answer)
		began := a.Delta(nil, &conversation.Delta{Text: []byte("a")}) // repeats twice what every answer repeats
		if taken := cap(r.Body) + cap(a.echo) + len(began) - 2048; int64(taken) > asked {
			t.Errorf("%s: %d bytes were asked for, %d were taken", story, asked, taken)
		}
	}
}

// TestTranslationsHoldNoPartOfTheBody: the body's memory is lent to another request once it is translated.
func TestTranslationsHoldNoPartOfTheBody(t *testing.T) {
	body := []byte(`{"model":"llm-max","input":[{"role":"user","content":"x"}],"temperature":0.5,"text":{"format":{"type":"json_object"}},` +
		`"tools":[{"type":"namespace","name":"mcp","tools":[{"type":"function","name":"find"}]},{"type":"custom","name":"patch"},` +
		`{"type":"web_search"}],"tool_choice":"required"}`)
	r, err := Read(body, dialecttest.Models)
	if err != nil {
		t.Fatal(err)
	}
	say := func() string {
		r.Dialect.Begin(dialecttest.Head)
		out, err := conversation.Whole(nil, r.Dialect, []byte(callsOf("find", "{}", "patch", `{\"input\":\"x\"}`)))
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Body) + r.Model + strings.Join(r.Warnings, "") + string(out)
	}
	before := say()
	for i := range body {
		body[i] = 0xdb
	}
	if after := say(); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

func TestParams(t *testing.T) {
	for field, want := range map[string]string{
		"model": "model", "parameters.temperature": "temperature", "parameters.max_completion_tokens": "max_output_tokens",
		"parameters.response_format": "text.format", "parameters.response_format.json_schema.schema": "text.format.schema",
		"parameters.response_format.type": "text.format.type",
		"parameters.enable_thinking":      "reasoning.effort", "parameters.tools[0].function.name": "tools[0].name", "parameters.tools": "tools",
		"parameters.tool_choice": "tool_choice", "input.messages[3].content": "input", "input.messages": "input",
		"parameters.incremental_output": "stream", "X-Service-SSE": "", "input.prompt": "", "": "",
	} {
		if got := Param(field); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}
