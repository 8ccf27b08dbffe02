package simulator

import (
	"fmt"
	"strings"
	"testing"
)

// question is a plain question with parameters.
func question(parameters string) string {
	return say("What is a sluice? Answer in JSON.", parameters)
}

func TestTextParameterBounds(t *testing.T) {
	judge(t, New(Config{}), textPath, question, nil, []verdict{
		{"result_format text", `"result_format":"text"`, ""},
		{"result_format message", `"result_format":"message"`, ""},
		{"result_format other", `"result_format":"json"`, "result_format must be one of"},
		{"temperature at 0", `"temperature":0`, ""},
		{"temperature below 2", `"temperature":1.99`, ""},
		{"temperature at 2", `"temperature":2`, "temperature must be in [0, 2)"},
		{"temperature below 0", `"temperature":-0.01`, "temperature"},
		{"temperature no number", `"temperature":"hot"`, "temperature must be a number"},
		{"top_p above 0", `"top_p":0.001`, ""},
		{"top_p at 1", `"top_p":1.0`, ""},
		{"top_p at 0", `"top_p":0`, "top_p must be in (0, 1]"},
		{"top_p above 1", `"top_p":1.001`, "top_p"},
		{"top_k at 0", `"top_k":0`, ""},
		{"top_k above 100 is disabled, not refused", `"top_k":101`, ""},
		{"top_k null is disabled", `"top_k":null`, ""},
		{"top_k below 0", `"top_k":-1`, "top_k"},
		{"top_k not whole", `"top_k":1.5`, "top_k must be an integer"},
		{"repetition_penalty above 0", `"repetition_penalty":0.01`, ""},
		{"repetition_penalty at 0", `"repetition_penalty":0`, "repetition_penalty"},
		{"presence_penalty at -2", `"presence_penalty":-2`, ""},
		{"presence_penalty at 2", `"presence_penalty":2.0`, ""},
		{"presence_penalty below -2", `"presence_penalty":-2.01`, "presence_penalty must be in [-2, 2]"},
		{"presence_penalty above 2", `"presence_penalty":2.01`, "presence_penalty"},
		{"max_tokens at 1", `"max_tokens":1`, ""},
		{"max_tokens at 0", `"max_tokens":0`, "max_tokens"},
		{"max_completion_tokens at 1", `"max_completion_tokens":1`, ""},
		{"max_completion_tokens at 0", `"max_completion_tokens":0`, "max_completion_tokens"},
		{"thinking_budget at 0", `"thinking_budget":0`, ""},
		{"thinking_budget below 0", `"thinking_budget":-1`, "thinking_budget"},
		{"seed at 0", `"seed":0`, ""},
		{"seed at the end", `"seed":2147483647`, ""},
		{"seed beyond", `"seed":2147483648`, "seed"},
		{"seed below", `"seed":-1`, "seed"},
		{"n at 1", `"n":1`, ""},
		{"n at 4", `"n":4`, ""},
		{"n at 0", `"n":0`, "n must be in [1, 4]"},
		{"n at 5", `"n":5`, "n must be in [1, 4]"},
		{"logprobs", `"logprobs":true`, ""},
		{"logprobs no boolean", `"logprobs":1`, "logprobs must be a boolean"},
		{"top_logprobs at 0", `"top_logprobs":0`, ""},
		{"top_logprobs at 5", `"logprobs":true,"top_logprobs":5`, ""},
		{"top_logprobs at 6", `"logprobs":true,"top_logprobs":6`, "top_logprobs"},
		{"top_logprobs without logprobs has no effect", `"top_logprobs":3`, ""},
		{"max_pixels at 1", `"max_pixels":1`, ""},
		{"max_pixels at 0", `"max_pixels":0`, "max_pixels"},
		{"stream", `"stream":true`, ""},
		{"stream no boolean", `"stream":"true"`, "stream must be a boolean"},
		{"incremental_output no boolean", `"incremental_output":"yes"`, "incremental_output"},
		{"enable_thinking no boolean", `"enable_thinking":1`, "enable_thinking"},
		{"unknown names are legal", `"enable_search":{"any":["thing"]}`, ""},
	})
}

func TestStopRules(t *testing.T) {
	judge(t, New(Config{}), textPath, question, nil, []verdict{
		{"a string", `"stop":"end"`, ""},
		{"strings", `"stop":["end","fin"]`, ""},
		{"token ids", `"stop":[1,2]`, ""},
		{"sequences of token ids", `"stop":[[1,2],[3]]`, ""},
		{"none", `"stop":[]`, ""},
		{"strings and ids", `"stop":["end",1]`, "must not mix"},
		{"ids and sequences", `"stop":[1,[2]]`, "must not mix"},
		{"a number", `"stop":1`, "stop must be"},
		{"an object", `"stop":{}`, "stop must be"},
		{"objects", `"stop":[{}]`, "stop must be"},
		{"booleans", `"stop":[true]`, "stop must be"},
		{"broken ids", `"stop":[1.5]`, "stop must be"},
		{"negative ids", `"stop":[-1]`, "stop must be"},
		{"strings in a sequence", `"stop":[["end"]]`, "stop must be"},
	})
}

// tool is a function with this name and more members.
func tool(name, more string) string {
	return fmt.Sprintf(`"result_format":"message","tools":[{"type":"function","function":{"name":%q%s}}]`, name, more)
}

func TestToolRules(t *testing.T) {
	judge(t, New(Config{VisionModels: []string{"llm-plus-v*"}}), textPath, question, nil, []verdict{
		{"name only", tool("get_level", ""), ""},
		{"all characters", tool("Get-level_2", ""), ""},
		{"name of 64", tool(strings.Repeat("a", 64), ""), ""},
		{"name of 65", tool(strings.Repeat("a", 65), ""), "name each function"},
		{"no name", tool("", ""), "name each function"},
		{"name with a dot", tool("get.level", ""), "name each function"},
		{"name with a line end", tool("get\n", ""), "name each function"},
		{"description", tool("f", `,"description":"what"`), ""},
		{"description no string", tool("f", `,"description":1`), "describe each function"},
		{"schema", tool("f", `,"parameters":{}`), ""},
		{"schema null", tool("f", `,"parameters":null`), ""},
		{"schema no object", tool("f", `,"parameters":[]`), "JSON Schema object"},
		{"no array", `"result_format":"message","tools":{}`, "tools must be an array"},
		{"no tool", `"result_format":"message","tools":[7]`, "type function"},
		{"other type", `"result_format":"message","tools":[{"type":"search"}]`, "type function"},
		{"no function", `"result_format":"message","tools":[{"type":"function"}]`, "function object"},
		{"none at all", `"tools":[]`, ""},
		{"without message", `"tools":[{"type":"function","function":{"name":"f"}}]`, "result_format must be message"},
		{"with text", `"result_format":"text","tools":[{"type":"function","function":{"name":"f"}}]`, "result_format must be message"},
		{"n 1", tool("f", "") + `,"n":1`, ""},
		{"n 2", tool("f", "") + `,"n":2`, "n must be 1 when tools"},
		{"choice auto", tool("f", "") + `,"tool_choice":"auto"`, ""},
		{"choice none", tool("f", "") + `,"tool_choice":"none"`, ""},
		{"choice required", tool("f", "") + `,"tool_choice":"required"`, "tool_choice must be"},
		{"choice forced", tool("f", "") + `,"tool_choice":{"type":"function","function":{"name":"f"}}`, ""},
		{"choice without a name", tool("f", "") + `,"tool_choice":{"type":"function","function":{}}`, "tool_choice must be"},
		{"choice of another type", tool("f", "") + `,"tool_choice":{"type":"search","function":{"name":"f"}}`, "tool_choice must be"},
		{"choice forced while thinking", tool("f", "") + `,"enable_thinking":true,"tool_choice":{"type":"function","function":{"name":"f"}}`, "cannot force a tool"},
		{"choice auto while thinking", tool("f", "") + `,"enable_thinking":true,"tool_choice":"auto"`, ""},
	})
}

func TestModelFamilyRules(t *testing.T) {
	s := New(Config{VisionModels: []string{"llm-v*"}, ThinkingModels: []string{"llm-t*"}, MessageModels: []string{"llm-m*"}})
	model := func(change string) string {
		name, parameters, _ := strings.Cut(change, " ")
		return strings.Replace(question(parameters), "llm-plus", name, 1)
	}
	const f = `"tools":[{"type":"function","function":{"name":"f"}}]`
	judge(t, s, textPath, model, nil, []verdict{
		{"tools on a vision model", `llm-v1 "result_format":"message",` + f, "tools is not supported"},
		{"tools on a message model", `llm-m1 ` + f, ""},
		{"tools on a text model", `llm-x1 ` + f, "result_format must be message"},
		{"thinking in text", `llm-t1 "enable_thinking":true,"result_format":"text"`, "can only be message in thinking mode"},
		{"thinking in message", `llm-t1 "enable_thinking":true,"result_format":"message"`, ""},
		{"thinking without a format", `llm-t1 "enable_thinking":true`, ""},
		{"not thinking in text", `llm-t1 "result_format":"text"`, ""},
		{"another model thinking in text", `llm-x1 "enable_thinking":true,"result_format":"text"`, ""},
		{"several answers", `llm-x1 "n":2`, ""},
		{"several answers while thinking", `llm-x1 "n":2,"enable_thinking":true`, "n must be 1 in thinking mode"},
	})
}

func TestResponseFormatRules(t *testing.T) {
	s := New(Config{})
	judge(t, s, textPath, question, nil, []verdict{
		{"text", `"response_format":{"type":"text"}`, ""},
		{"json_object", `"response_format":{"type":"json_object"}`, ""},
		{"json_schema", `"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}}`, ""},
		{"json_schema without schema", `"response_format":{"type":"json_schema"}`, "must hold json_schema.schema"},
		{"json_schema with an empty one", `"response_format":{"type":"json_schema","json_schema":{}}`, "must hold json_schema.schema"},
		{"another type", `"response_format":{"type":"xml"}`, "response_format type must be one of"},
		{"no type", `"response_format":{}`, "response_format type must be one of"},
		{"no object", `"response_format":"json_object"`, "response_format must be an object"},
	})
	quiet := func(messages string) string {
		return `{"model":"llm-plus","input":{` + messages + `},"parameters":{"response_format":{"type":"json_object"}}}`
	}
	judge(t, s, textPath, quiet, nil, []verdict{
		{"nobody says so", `"messages":[{"role":"user","content":"hi"}]`, "must contain the word json"},
		{"the system says so", `"messages":[{"role":"system","content":"Use JSON"},{"role":"user","content":"hi"}]`, ""},
		{"an item says so", `"messages":[{"role":"user","content":[{"text":"as json"}]}]`, ""},
		{"the prompt says so", `"prompt":"as Json"`, ""},
		{"the prompt does not", `"prompt":"hi"`, "must contain the word json"},
	})
}

func TestTextHeaderRules(t *testing.T) {
	s := New(Config{})
	for _, tt := range []struct{ name, value, want string }{
		{"async", "enable", "AccessDenied current user api does not support asynchronous calls"},
		{"not async", "disable", ""},
	} {
		if got := refusalOf(t, s, textPath, question(""), "X-Service-Async", tt.value); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: said %q, want %q", tt.name, got, tt.want)
		}
	}
}
