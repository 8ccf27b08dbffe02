package chat

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/gateway/conversation"
	"sluice/gateway/dialect/dialecttest"
)

func TestChatRefusals(t *testing.T) {
	for _, c := range []struct {
		story, members string // beside the model and a message
		param          string
	}{
		{"both limits", `"max_tokens":1,"max_completion_tokens":1`, "max_tokens"},
		{"a penalty that is no number", `"frequency_penalty":"0"`, "frequency_penalty"},
		{"biases", `"logit_bias":{"1":-100}`, "logit_bias"},
		{"sound", `"modalities":["text","audio"]`, "modalities"},
		{"no modality", `"modalities":[]`, "modalities"},
		{"a voice", `"audio":{"voice":"alloy"}`, "audio"},
		{"a prediction", `"prediction":{"type":"content","content":""}`, "prediction"},
		{"a moderation", `"moderation":{"model":"m"}`, "moderation"},
		{"a search", `"web_search_options":{}`, "web_search_options"},
		{"functions of old", `"functions":[{"name":"f"}]`, "functions"},
		{"a call of old", `"function_call":"auto"`, "function_call"},
		{"any tool of none", `"tool_choice":"required"`, "tool_choice"},
		{"any tool of an empty list", `"tool_choice":"required","tools":[]`, "tool_choice"},
		{"the only tool, without a name", `"tool_choice":"required","tools":[{"type":"function"}]`, "tools[0].function.name"},
		{"some tools", `"tool_choice":{"type":"allowed_tools"}`, "tool_choice"},
		{"a tool without a type", `"tool_choice":{"function":{"name":"f"}}`, "tool_choice"},
		{"input", `"input":{}`, "input"},
		{"the form of answers", `"result_format":"text"`, "result_format"},
		{"the form of frames", `"incremental_output":false`, "incremental_output"},
		{"a stream that is no truth value", `"stream":"true"`, "stream"},
		{"options without a stream", `"stream_options":{"include_usage":true}`, "stream_options"},
		{"options that are none", `"stream":true,"stream_options":[]`, "stream_options"},
		{"usage that is no truth value", `"stream":true,"stream_options":{"include_usage":1}`, "stream_options.include_usage"},
		{"an effort that is no word", `"reasoning_effort":3`, "reasoning_effort"},
		{"a member twice", `"top_p":1,"t\u006fp_p":1`, "top_p"},
		{"too many members", strings.TrimSuffix(strings.Repeat(`"x`, 1)+manyMembers(300), ","), ""},
	} {
		t.Run(c.story, func(t *testing.T) {
			body := `{"model":"llm-max","messages":[{"role":"user","content":"Hi"}],` + c.members + `}`
			mustRefuse(t, body, c.param)
		})
	}
}

// manyMembers is the rest of one member's name and n members.
func manyMembers(n int) string {
	var b strings.Builder
	b.WriteString(`":0,`)
	for i := range n {
		b.WriteString(`"m` + strings.Repeat("a", i) + `":0,`)
	}
	return b.String()
}

func mustRefuse(t *testing.T, body, param string) {
	t.Helper()
	r, err := Read([]byte(body), dialecttest.Models)
	refusal, ok := errors.AsType[*conversation.Refusal](err)
	if !ok || r != nil {
		t.Fatalf("%v, %v: want a refusal", r, err)
	}
	if refusal.Status != 400 || refusal.Param != param || refusal.Code != "InvalidParameter" {
		t.Errorf("%d, %q, %q: %s; want the param %q", refusal.Status, refusal.Code, refusal.Param, refusal.Message, param)
	}
}

func TestBodyRefusals(t *testing.T) {
	for _, c := range []struct{ story, body, param string }{
		{"nothing", ``, ""},
		{"an array", `[]`, ""},
		{"a fault", `{"model":}`, ""},
		{"cut", `{"model":"llm-max"`, ""},
		{"two documents", `{"model":"llm-max"} {}`, ""},
		{"not UTF-8", "{\"model\":\"\xff\"}", ""},
		{"half of a pair", `{"model":"\ud800"}`, ""},
		{"no model", `{"messages":[]}`, "model"},
		{"a model that is no word", `{"model":1,"messages":[]}`, "model"},
		{"a model without a name", `{"model":"","messages":[]}`, "model"},
		{"no messages", `{"model":"llm-max"}`, "messages"},
		{"messages that are none", `{"model":"llm-max","messages":"Hi"}`, "messages"},
		{"a model twice", `{"model":"a","model":"b","messages":[]}`, "model"},
	} {
		t.Run(c.story, func(t *testing.T) { mustRefuse(t, c.body, c.param) })
	}
}

func TestFaultIsTold(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":1,}`: "byte 7", "{\"a\":\"\xff\"}": "byte 6", `{} 1`: "byte", `{"a":"\ud800"}`: "byte 6",
	} {
		_, err := Read([]byte(body), dialecttest.Models)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

// TestImagesAreCopiedOnce: the memory that a translation takes is that of its result.
func TestImagesAreCopiedOnce(t *testing.T) {
	const size = 8 << 20
	body := []byte(`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` +
		strings.Repeat("A", size) + `"}}]}],"model":"llm-vl"}`)
	for name, translate := range map[string]func() (*conversation.Request, error){
		"Chat": func() (*conversation.Request, error) { return Read(body, dialecttest.Models) },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := translate()
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > uint64(len(r.Body)+64<<10) {
			t.Errorf("%s: %d bytes for a result of %d", name, taken, len(r.Body))
		}
	}
}

// anyValue draws a JSON value, with white space anywhere.
func anyValue(depth int) *rapid.Generator[string] {
	scalars := rapid.SampledFrom([]string{`"\""`, `"\\\""`, `"[{,"`, `"词"`, "1.50", "-0", "1e5", "true", "null", "[]", "{ }"})
	if depth == 0 {
		return scalars
	}
	return rapid.Custom(func(t *rapid.T) string {
		inner := strings.Join(rapid.SliceOfN(anyValue(depth-1), 1, 3).Draw(t, "elements"), " ,\n")
		return rapid.SampledFrom([]string{"[" + inner + "]", `{"a" : [` + inner + "]\t}"}).Draw(t, "value")
	})
}

// TestGeneratedChats: what is not OpenAI's passes as it is written, in its order, and the result is one document.
func TestGeneratedChats(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`x_[a-z]{1,6}`), 0, 6, rapid.ID).Draw(r, "names")
		var body, want strings.Builder
		body.WriteString(`{"model":"llm-max","messages":[{"role":"user","content":"Hi"}]`)
		for _, name := range names {
			value := anyValue(2).Draw(r, "value")
			body.WriteString(`,"` + name + `":` + value)
			if value != "null" {
				want.WriteString(`,"` + name + `":` + value)
			}
		}
		body.WriteString("}")
		got, err := Read([]byte(body.String()), dialecttest.Models)
		if err != nil {
			r.Fatal(err)
		}
		if text := `{"model":"llm-max","input":{"messages":[{"role":"user","content":"Hi"}]},"parameters":{"result_format":"message"` +
			want.String() + "}}"; string(got.Body) != text {
			r.Fatalf("%s, want %s", got.Body, text)
		}
		dialecttest.MustBeJSON(t, got.Body)
	})
}

func TestMessageRefusals(t *testing.T) {
	for _, c := range []struct{ story, message, param string }{
		{"no object", `"Hi"`, "messages[1]"},
		{"no role", `{"content":"Hi"}`, "messages[1].role"},
		{"an unknown role", `{"role":"critic","content":"Hi"}`, "messages[1].role"},
		{"a role of old", `{"role":"function","name":"f","content":"Hi"}`, "messages[1].role"},
		{"a role that is no word", `{"role":[],"content":"Hi"}`, "messages[1].role"},
		{"a refusal", `{"role":"assistant","refusal":"No."}`, "messages[1].refusal"},
		{"a call of old", `{"role":"assistant","function_call":{"name":"f","arguments":""}}`, "messages[1].function_call"},
		{"a recording", `{"role":"assistant","audio":{"id":"a"}}`, "messages[1].audio"},
		{"content twice", `{"role":"user","content":"a","content":"b"}`, "messages[1].content"},
		{"content that is a number", `{"role":"user","content":1}`, "messages[1].content"},
		{"content that is an object", `{"role":"user","content":{"type":"text","text":"a"}}`, "messages[1].content"},
		{"a part that is no object", `{"role":"user","content":["a"]}`, "messages[1].content[0]"},
		{"a part without a type", `{"role":"user","content":[{"text":"a"}]}`, "messages[1].content[0].type"},
		{"a recording in a part", `{"role":"user","content":[{"type":"text","text":"a"},{"type":"input_audio","input_audio":{}}]}`,
			"messages[1].content[1].type"},
		{"a file in a part", `{"role":"user","content":[{"type":"file","file":{}}]}`, "messages[1].content[0].type"},
		{"a refusal in a part", `{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}`, "messages[1].content[0].type"},
		{"a text part without a text", `{"role":"user","content":[{"type":"text","text":null}]}`, "messages[1].content[0].text"},
		{"a picture without an address", `{"role":"user","content":[{"type":"image_url","image_url":{"detail":"low"}}]}`,
			"messages[1].content[0].image_url"},
		{"a picture that is a word", `{"role":"user","content":[{"type":"image_url","image_url":"https://a.example/1.png"}]}`,
			"messages[1].content[0].image_url"},
		{"a part with a member twice", `{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}`, "messages[1].content[0].text"},
		{"the service's own member", `{"role":"user","content":[{"type":"image_url","image_url":{"url":"a"},"image":"b"}]}`,
			"messages[1].content[0].image"},
	} {
		t.Run(c.story, func(t *testing.T) {
			mustRefuse(t, `{"model":"llm-max","messages":[{"role":"system","content":"Be brief."},`+c.message+`]}`, c.param)
		})
	}
}

// What the service's request takes is asked for before it is made.
func TestRequestsWithoutRoom(t *testing.T) {
	full := &conversation.Models{Room: func(int64) bool { return false }}
	if _, err := Read([]byte(`{"model":"m","messages":[]}`), full); !errors.Is(err, conversation.ErrNoRoom) {
		t.Error(err)
	}
}

// A choice that requires any call forces the only function; of several the service is asked to choose, and the client is told.
func TestAnyToolIsRequired(t *testing.T) {
	const level, tide = `{"type":"function","function":{"name":"level"}}`, `{"type":"function","function":{"name":"tide"}}`
	const forced, auto = `"tool_choice":{"type":"function","function":{"name":"level"}}`, `"tool_choice":"auto"`
	for _, c := range []struct {
		story, members, want string
		warned               bool
	}{
		{"one tool", `"tools":[` + level + `],"tool_choice":"required"`, forced, false},
		{"one tool, behind the choice", `"tool_choice":"required","tools":[` + level + `]`, forced, false},
		{"several tools", `"tools":[` + level + `,` + tide + `],"tool_choice":"required"`, auto, true},
		{"one tool, and the model thinks", `"tools":[` + level + `],"tool_choice":"required","reasoning_effort":"low"`, auto, true},
		{"one tool, and it thinks by the service's own switch", `"tools":[` + level + `],"tool_choice":"required","enable_thinking":true`, auto,
			true},
		{"one tool, and it does not think", `"tools":[` + level + `],"tool_choice":"required","reasoning_effort":"none"`, forced, false},
	} {
		r, err := Read([]byte(`{"model":"llm-max","messages":[{"role":"user","content":"Hi"}],`+c.members+`}`), dialecttest.Models)
		if err != nil {
			t.Fatal(c.story, err)
		}
		if got := string(r.Body); !strings.Contains(got, c.want) || strings.Count(got, "tool_choice") != 1 || (len(r.Warnings) == 1) != c.warned {
			t.Errorf("%s: %s %q, want %s", c.story, got, r.Warnings, c.want)
		}
		for _, finding := range dialecttest.Judged(t, r).Violations {
			t.Errorf("%s: %s", c.story, finding)
		}
	}
}
