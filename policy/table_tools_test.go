package policy_test

import (
	"slices"
	"strings"
)

const oneTool = `{"type":"function","function":{"name":"look_up","description":"looks","parameters":{"type":"object"}}}`

const force = `{"type":"function","function":{"name":"look_up"}}`

// named is a tool with a name.
func named(name string) string { return `[{"type":"function","function":{"name":"` + name + `"}}]` }

var toolCases = []ruleCase{
	{
		id: "text.tools", call: "text",
		pass:   param("tools", `[]`, `null`, `[`+oneTool+`]`),
		breach: param("tools", `{}`, `"x"`),
	},
	{
		id: "text.tools.tool", call: "text",
		breach: param("tools", `["x"]`, `[null]`, `[`+oneTool+`,5]`),
	},
	{
		id: "text.tools.type", call: "text",
		breach: param(
			"tools", `[{"type":"plugin","function":{"name":"f"}}]`, `[{"function":{"name":"f"}}]`,
			`[{"type":5,"function":{"name":"f"}}]`,
		),
	},
	{
		id: "text.tools.function", call: "text",
		breach: param("tools", `[{"type":"function"}]`, `[{"type":"function","function":"f"}]`),
	},
	{
		id: "text.tools.name", call: "text",
		pass: param("tools", named(strings.Repeat("n", 64)), named("aZ09_-"), named("f"),
			`[`+oneTool+`,`+oneTool+`]`), // the service judges a repeated name
		breach: param("tools", named(strings.Repeat("n", 65)), named(""), named("é"), named("a b"), named("a.b"),
			`[{"type":"function","function":{}}]`, `[{"type":"function","function":{"name":5}}]`),
	},
	{
		id: "text.tools.description", call: "text",
		pass:   param("tools", `[{"type":"function","function":{"name":"f","description":null}}]`),
		breach: param("tools", `[{"type":"function","function":{"name":"f","description":5}}]`),
	},
	{
		id: "text.tools.parameters", call: "text",
		pass: param(
			"tools", `[{"type":"function","function":{"name":"f","parameters":{}}}]`,
			`[{"type":"function","function":{"name":"f"}}]`,
		),
		breach: param(
			"tools", `[{"type":"function","function":{"name":"f","parameters":[]}}]`,
			`[{"type":"function","function":{"name":"f","parameters":"{}"}}]`,
		),
	},
	{
		id: "text.tools.vision", call: "text",
		pass:   textModel("llm-vl", "tools", `[]`),
		breach: textModel("llm-vl", "tools", `[`+oneTool+`]`),
	},
	{
		id: "text.result_format.tools", call: "text",
		pass: param(
			"tools", `[`+oneTool+`],"result_format":"message"`, `[`+oneTool+`]`, `[],"result_format":"text"`,
		),
		breach: param("tools", `[`+oneTool+`],"result_format":"text"`),
	},
	{
		id: "text.tool_choice", call: "text",
		pass: param("tool_choice", `"auto"`, `"none"`, force, `null`),
		breach: param(
			"tool_choice", `"required"`, `"AUTO"`, `5`, `{}`, `{"type":"function"}`,
			`{"type":"x","function":{"name":"f"}}`, `{"type":"function","function":{"name":5}}`,
		),
	},
	{
		id: "text.tool_choice.thinking", call: "text",
		pass: param("tool_choice", `"auto","enable_thinking":true`, force+`,"enable_thinking":false`),
		breach: append(
			param("tool_choice", force+`,"enable_thinking":true`), textModel("llm-think", "tool_choice", force)...,
		),
	},
	{
		id: "text.parallel_tool_calls", call: "text",
		pass:   param("parallel_tool_calls", slices.Clone(booleans)...),
		breach: param("parallel_tool_calls", slices.Clone(notBooleans)...),
	},
	{
		id: "text.parallel_tool_calls.thinking", call: "text", besides: "text.tool_choice.thinking",
		pass: param(
			"parallel_tool_calls", `true,"enable_thinking":true,"tool_choice":"auto"`, `true,"tool_choice":`+force,
		),
		breach: param("parallel_tool_calls", `true,"enable_thinking":true,"tool_choice":`+force),
	},
}
