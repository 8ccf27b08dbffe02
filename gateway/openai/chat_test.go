package openai

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestChatRefusals(t *testing.T) {
	for _, c := range []struct {
		story, members string // beside the model and a message
		param          string
	}{
		{"both limits", `"max_tokens":1,"max_completion_tokens":1`, "max_tokens"},
		{"a penalty that the service has not", `"frequency_penalty":0.1`, "frequency_penalty"},
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
		{"any tool", `"tool_choice":"required"`, "tool_choice"},
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
	r, err := Chat([]byte(body), testModels)
	refusal, ok := errors.AsType[*Refusal](err)
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
		_, err := Chat([]byte(body), testModels)
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
	file := make([]byte, size)
	for name, translate := range map[string]func() (*Request, error){
		"Chat": func() (*Request, error) { return Chat(body, testModels) },
		"Edit": func() (*Request, error) {
			return Edit([]Part{{Name: "model", Data: []byte("m")}, {Name: "prompt", Data: []byte("p")}, {Name: "image", File: "a", Data: file}}, testModels)
		},
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
		got, err := Chat([]byte(body.String()), testModels)
		if err != nil {
			r.Fatal(err)
		}
		if text := `{"model":"llm-max","input":{"messages":[{"role":"user","content":"Hi"}]},"parameters":{"result_format":"message"` + want.String() + "}}"; string(got.Body) != text {
			r.Fatalf("%s, want %s", got.Body, text)
		}
		mustBeJSON(t, got.Body)
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
		{"a recording in a part", `{"role":"user","content":[{"type":"text","text":"a"},{"type":"input_audio","input_audio":{}}]}`, "messages[1].content[1].type"},
		{"a file in a part", `{"role":"user","content":[{"type":"file","file":{}}]}`, "messages[1].content[0].type"},
		{"a refusal in a part", `{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}`, "messages[1].content[0].type"},
		{"a text part without a text", `{"role":"user","content":[{"type":"text","text":null}]}`, "messages[1].content[0].text"},
		{"a picture without an address", `{"role":"user","content":[{"type":"image_url","image_url":{"detail":"low"}}]}`, "messages[1].content[0].image_url"},
		{"a picture that is a word", `{"role":"user","content":[{"type":"image_url","image_url":"https://a.example/1.png"}]}`, "messages[1].content[0].image_url"},
		{"a part with a member twice", `{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}`, "messages[1].content[0].text"},
		{"the service's own member", `{"role":"user","content":[{"type":"image_url","image_url":{"url":"a"},"image":"b"}]}`, "messages[1].content[0].image"},
	} {
		t.Run(c.story, func(t *testing.T) {
			mustRefuse(t, `{"model":"llm-max","messages":[{"role":"system","content":"Be brief."},`+c.message+`]}`, c.param)
		})
	}
}
