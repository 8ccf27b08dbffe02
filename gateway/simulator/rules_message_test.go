package simulator

import "testing"

// conversation puts an input into a chat request.
func conversation(in string) string {
	return `{"model":"llm-plus","input":` + in + `}`
}

func TestConversationRules(t *testing.T) {
	judge(t, New(Config{}), textPath, conversation, nil, []verdict{
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
	judge(t, New(Config{}), textPath, conversation, nil, []verdict{
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
