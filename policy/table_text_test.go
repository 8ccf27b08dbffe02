package policy_test

import "strings"

// textModel makes bodies of one parameter for a model of a family.
func textModel(model, name string, values ...string) []string {
	return each(func(v string) string { return textBody(model, `"`+name+`":`+v) }, values...)
}

// message makes bodies of one message each.
func message(messages ...string) []string {
	return each(func(m string) string { return messageBody("llm-max", m) }, messages...)
}

var textCases = []ruleCase{
	{
		id: "text.model", call: "text",
		pass: []string{textBody("m", ""), textBody(strings.Repeat("m", 256), "")},
		breach: []string{
			textBody("", ""), textBody(strings.Repeat("m", 257), ""),
			strings.Replace(textBody("m", ""), `"m"`, "null", 1),
			strings.Replace(textBody("m", ""), `"m"`, "5", 1),
		},
	},
	{
		id: "text.input", call: "text", besides: "text.messages",
		breach: []string{`{"model":"m","input":[]}`, `{"model":"m","input":"hi"}`},
	},
	{
		id: "text.parameters", call: "text",
		pass: []string{
			`{"model":"m","input":{"prompt":"hi"},"parameters":null}`,
			`{"model":"m","input":{"prompt":"hi"},"parameters":{}}`,
		},
		breach: []string{
			`{"model":"m","input":{"prompt":"hi"},"parameters":[]}`,
			`{"model":"m","input":{"prompt":"hi"},"parameters":"n=4"}`,
		},
	},
	{
		id: "text.messages", call: "text",
		pass: []string{
			`{"model":"m","input":{"prompt":"hi","history":[{"user":"a","bot":"b"}]}}`,
			`{"model":"m","input":{"prompt":"hi","messages":null}}`,
		},
		breach: []string{
			`{"model":"m","input":{"messages":[]}}`, `{"model":"m","input":{}}`, `{"model":"m"}`,
			`{"model":"m","input":{"messages":{}}}`, `{"model":"m","input":{"messages":"hi","prompt":"hi"}}`,
		},
	},
	{
		id: "text.prompt", call: "text",
		pass:   []string{`{"model":"m","input":{"prompt":""}}`},
		breach: []string{`{"model":"m","input":{"prompt":5}}`, `{"model":"m","input":{"prompt":["hi"]}}`},
	},
	{
		id: "text.message", call: "text",
		breach: message(`"hi"`, `null`, `[]`, `5`),
	},
	{
		id: "text.role", call: "text",
		pass: message(
			`{"role":"system","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":"c"},{"role":"tool","content":"d","tool_call_id":"1"}`,
		),
		breach: message(`{"role":"SYSTEM","content":"a"}`, `{"role":"developer","content":"a"}`, `{"content":"a"}`,
			`{"role":null,"content":"a"}`, `{"role":["user"],"content":"a"}`, `{"role":"user ","content":"a"}`),
	},
	{
		id: "text.role.reasoning", call: "text",
		pass:   []string{messageBody("llm-reason", `{"role":"user","content":"a"}`)},
		breach: []string{messageBody("llm-reason", `{"role":"system","content":"a"},{"role":"user","content":"a"}`)},
	},
	{
		id: "text.role.visual?", call: "text",
		pass:   []string{messageBody("llm-see", `{"role":"user","content":"a"}`), messageBody("llm-vl", `{"role":"system","content":"a"}`)},
		breach: []string{messageBody("llm-see", `{"role":"system","content":"a"}`)},
	},
	{
		id: "text.content", call: "text",
		pass: message(`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
			`{"role":"assistant","content":null,"tool_calls":[]}`, `{"role":"assistant","content":""}`, `{"content":"","role":"user"}`),
		breach: message(
			`{"role":"user","content":5}`, `{"role":"user"}`, `{"role":"tool","content":null}`,
			`{"role":"assistant","content":{}}`,
		),
	},
	{
		id: "text.content.array?", call: "text",
		breach: message(
			`{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}`,
			`{"role":"user","content":[]}`,
		),
	},
	{
		id: "text.content.string?", call: "chat",
		pass:   message(`{"role":"user","content":[{"text":"a"}]}`),
		breach: message(`{"role":"system","content":"a"},{"role":"user","content":[{"text":"b"}]}`),
	},
	{
		id: "text.content.item", call: "chat",
		breach: message(`{"role":"user","content":["a"]}`, `{"role":"user","content":[null]}`),
	},
	{
		id: "text.content.kind?", call: "chat",
		pass: message(`{"role":"user","content":[{"text":""}]}`, `{"role":"user","content":[{"image":"http://a/b"},{"video":"http://a/b"},{"audio":"https://a/b"}]}`,
			`{"role":"user","content":[{"video":["http://a/b","data:image/jpeg;base64,AAAA"],"fps":2},{"audio":"data:;base64,AAAA"}]}`),
		breach: message(
			`{"role":"user","content":[{"file":"a"}]}`, `{"role":"user","content":[{}]}`,
			`{"role":"user","content":[{"text":null}]}`,
		),
	},
	{
		id: "text.content.text", call: "chat",
		breach: message(`{"role":"user","content":[{"text":5}]}`, `{"role":"user","content":[{"text":["a"]}]}`),
	},
}
