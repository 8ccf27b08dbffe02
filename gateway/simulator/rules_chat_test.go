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
	judge(t, New(Config{}), textPath, question, nil, []verdict{
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
		{"several answers", `"n":2`, ""},
		{"several answers while thinking", `"n":2,"enable_thinking":true`, "n must be 1 in thinking mode"},
		{"choice auto while thinking", tool("f", "") + `,"enable_thinking":true,"tool_choice":"auto"`, ""},
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

// conversed puts an input into a chat request.
func conversed(in string) string {
	return `{"model":"llm-plus","input":` + in + `}`
}

func TestConversationRules(t *testing.T) {
	judge(t, New(Config{}), textPath, conversed, nil, []verdict{
		{"one message", `{"messages":[{"role":"user","content":"hi"}]}`, ""},
		{"all roles", `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"tool","content":"t"}]}`, ""},
		{"another role", `{"messages":[{"role":"developer","content":"hi"}]}`, "role must be one of"},
		{"no role", `{"messages":[{"content":"hi"}]}`, "role must be one of"},
		{"role in capitals", `{"messages":[{"role":"User","content":"hi"}]}`, "role must be one of"},
		{"no messages", `{"messages":[]}`, "non-empty array"},
		{"messages no array", `{"messages":"hi"}`, "non-empty array"},
		{"message no object", `{"messages":["hi"]}`, "role must be one of"},
		{"no input", `null`, "input must hold messages or prompt"},
		{"empty input", `{}`, "input must hold messages or prompt"},
		{"empty content", `{"messages":[{"role":"user","content":""}]}`, ""},
		{"no content", `{"messages":[{"role":"user"}]}`, "content must be a string or an array"},
		{"content a number", `{"messages":[{"role":"user","content":1}]}`, "content must be a string or an array"},
		{"content null", `{"messages":[{"role":"user","content":null}]}`, "content must be a string or an array"},
		{"content null beside tool calls", `{"messages":[{"role":"assistant","content":null,"tool_calls":[{}]}]}`, ""},
		{"content null of a user beside tool calls", `{"messages":[{"role":"user","content":null,"tool_calls":[{}]}]}`, "content must be a string or an array"},
		{"content empty array", `{"messages":[{"role":"user","content":[]}]}`, "must not be empty"},
		{"text items", `{"messages":[{"role":"user","content":[{"text":"hi","cache_control":{"type":"ephemeral"}}]}]}`, ""},
		{"image items in a text model", `{"messages":[{"role":"user","content":[{"image":"https://a.example/b.png"}]}]}`, "holds text only"},
		{"the wrong one is named", `{"messages":[{"role":"user","content":"a"},{"role":"x","content":"b"}]}`, "messages[1].role"},
	})
}

func TestPromptRules(t *testing.T) {
	judge(t, New(Config{}), textPath, conversed, nil, []verdict{
		{"prompt", `{"prompt":"hi"}`, ""},
		{"prompt beside null messages", `{"prompt":"hi","messages":null}`, ""},
		{"empty prompt", `{"prompt":""}`, "input must hold messages or prompt"},
		{"prompt no string", `{"prompt":["hi"]}`, "input must hold messages or prompt"},
		{"history", `{"prompt":"hi","history":[{"user":"a","bot":"b"}]}`, ""},
		{"no history", `{"prompt":"hi","history":[]}`, ""},
		{"history null", `{"prompt":"hi","history":null}`, ""},
		{"history no array", `{"prompt":"hi","history":{}}`, "history must be an array"},
		{"history without an answer", `{"prompt":"hi","history":[{"user":"a"}]}`, "history[0] must hold"},
		{"history without a question", `{"prompt":"hi","history":[{"bot":"a"}]}`, "history[0] must hold"},
	})
}

func TestItemRules(t *testing.T) {
	item := func(item string) string {
		return `{"model":"llm-vision","input":{"messages":[{"role":"user","content":[` + item + `]}]}}`
	}
	judge(t, New(Config{}), multimodalPath, item, nil, []verdict{
		{"text", `{"text":"hi"}`, ""},
		{"empty text", `{"text":""}`, ""},
		{"text no string", `{"text":1}`, "text must be a string"},
		{"https", `{"image":"https://a.example/b.png"}`, ""},
		{"http", `{"image":"http://a.example/b.png"}`, ""},
		{"an uploaded one", `{"image":"oss://bucket/b.png"}`, ""},
		{"another scheme", `{"image":"ftp://a.example/b.png"}`, "must be a public"},
		{"a file", `{"image":"file:///etc/passwd"}`, "must be a public"},
		{"no address", `{"image":"b.png"}`, "must be a public"},
		{"no host", `{"image":"https:///b.png"}`, "must be a public"},
		{"broken address", `{"image":"https://a.example/%zz"}`, "must be a public"},
		{"empty address", `{"image":""}`, "must be a public"},
		{"data", `{"image":"` + dataURI("image/png", pngOf(4, 4, true)) + `"}`, ""},
		{"data of a kind nobody knows is judged for form alone", `{"image":"data:image/gif;base64,R0lG"}`, ""},
		{"broken data", `{"image":"data:image/png;base64,?"}`, "Base64 data URI"},
		{"data not in base64", `{"image":"data:image/png,abc"}`, "Base64 data URI"},
		{"image no string", `{"image":["https://a.example/b.png"]}`, "image must be a string"},
		{"video", `{"video":"https://a.example/b.mp4","fps":2}`, ""},
		{"video frames", `{"video":["https://a.example/1.png","https://a.example/2.png"]}`, ""},
		{"no video frames", `{"video":[]}`, "video must be a string"},
		{"audio", `{"audio":"https://a.example/b.wav"}`, ""},
		{"audio frames", `{"audio":["x"]}`, "audio must be a string"},
		{"nothing known", `{"smell":"rose"}`, "must hold text"},
		{"null", `{"text":null}`, "must hold text"},
		{"no object", `"hi"`, "must hold text"},
	})
}
