package simulator

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheSameRequestGetsTheSameText(t *testing.T) {
	r := newRig(t, Config{})
	text := func(body string) string {
		s, _ := at(r.post(textPath, body).object(t), "output", "text").(string)
		return s
	}
	first := text(say("a gate", `"seed":1`))
	if again := text(say("a gate", `"seed":1`)); again != first {
		t.Errorf("the same request got\n%q and\n%q", first, again)
	}
	if form := text(say("a gate", `"seed":1,"enable_thinking":true`)); form != first {
		t.Errorf("a parameter of the form changes the text to %q", form)
	}
	for name, body := range map[string]string{
		"seed":  say("a gate", `"seed":2`),
		"words": say("a weir", `"seed":1`),
		"model": strings.Replace(say("a gate", `"seed":1`), "llm-plus", "llm-max", 1),
		"turn":  strings.Replace(say("a gate", `"seed":1`), `}]`, `},{"role":"user","content":""}]`, 1),
	} {
		if other := text(body); other == first {
			t.Errorf("another %s got the same text", name)
		}
	}
}

func TestOlderPromptForm(t *testing.T) {
	r := newRig(t, Config{})
	o := r.post(textPath, `{"model":"llm-plus","input":{"prompt":"And a weir?","history":[{"user":"What is a sluice?","bot":"A gate."}]}}`).object(t)
	if text, _ := at(o, "output", "text").(string); !strings.Contains(text, "“And a weir”") {
		t.Errorf("answer is %q", text)
	}
	// "And a weir?" 4, "What is a sluice?" 5, "A gate." 3, and 4 for each.
	if got := at(o, "usage", "input_tokens"); got != 24. {
		t.Errorf("input is %v tokens, want 24", got)
	}
}

func TestSeveralAnswers(t *testing.T) {
	r := newRig(t, Config{})
	one := r.post(textPath, say("hi", `"result_format":"message"`)).object(t)
	o := r.post(textPath, say("hi", `"result_format":"message","n":3`)).object(t)
	seen := map[any]bool{}
	for i := range 3 {
		choice := at(o, "output", "choices", i)
		if at(choice, "index") != float64(i) {
			t.Errorf("choice %d has index %v", i, at(choice, "index"))
		}
		seen[at(choice, "message", "content")] = true
	}
	if len(seen) != 3 || at(o, "output", "choices", 3) != nil {
		t.Errorf("got %d different answers of 3", len(seen))
	}
	if a, b := at(one, "usage", "output_tokens").(float64), at(o, "usage", "output_tokens").(float64); b < 2*a {
		t.Errorf("three answers took %v tokens, one %v", b, a)
	}
}

func TestLogprobs(t *testing.T) {
	r := newRig(t, Config{})
	o := r.post(textPath, say("hi", `"result_format":"message","logprobs":true,"top_logprobs":2,"max_tokens":6`)).object(t)
	choice := at(o, "output", "choices", 0)
	var joined string
	list, _ := at(choice, "logprobs", "content").([]any)
	for _, entry := range list {
		joined += at(entry, "token").(string)
		if lp := at(entry, "logprob").(float64); lp > 0 {
			t.Errorf("log probability is %v", lp)
		}
		if at(entry, "top_logprobs", 0, "token") != at(entry, "token") || at(entry, "top_logprobs", 1) == nil || at(entry, "top_logprobs", 2) != nil {
			t.Errorf("alternatives are %v", at(entry, "top_logprobs"))
		}
	}
	if len(list) != 6 || joined != at(choice, "message", "content") {
		t.Errorf("%d tokens join to %q, the text is %q", len(list), joined, at(choice, "message", "content"))
	}
	o = r.post(textPath, say("hi", `"result_format":"message","top_logprobs":2`)).object(t)
	if at(o, "output", "choices", 0, "logprobs") != nil {
		t.Error("top_logprobs took effect without logprobs")
	}
}

func TestThinking(t *testing.T) {
	r := newRig(t, Config{})
	o := r.post(textPath, say("a gate", `"result_format":"message","enable_thinking":true`)).object(t)
	message := at(o, "output", "choices", 0, "message")
	thoughts, _ := at(message, "reasoning_content").(string)
	content, _ := at(message, "content").(string)
	if !strings.Contains(thoughts, "“a gate”") || content == "" {
		t.Errorf("message is %v", message)
	}
	want := map[string]any{"reasoning_tokens": float64(tokens(thoughts)), "text_tokens": float64(tokens(content))}
	if diff := cmp.Diff(want, at(o, "usage", "output_tokens_details")); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
	o = r.post(textPath, say("a gate", `"result_format":"message"`)).object(t)
	if _, ok := get[object](at(o, "output", "choices", 0, "message"))["reasoning_content"]; ok {
		t.Error("an answer without thinking has reasoning_content")
	}
}

func TestMultimodalChat(t *testing.T) {
	r := newRig(t, Config{})
	picture := dataURI("image/png", pngOf(560, 280, true))
	body := `{"model":"llm-vision","input":{"messages":[{"role":"system","content":[{"text":"Be brief."}]},
		{"role":"user","content":[{"image":"` + picture + `"},{"text":"What is this?"}]}]},"parameters":{"vl_enable_image_hw_output":true}}`
	o := r.post(multimodalPath, body).object(t)
	part := at(o, "output", "choices", 0, "message", "content", 0)
	if text, _ := at(part, "text").(string); !strings.Contains(text, "“What is this”") {
		t.Errorf("content is %v", part)
	}
	if diff := cmp.Diff([]any{[]any{"280", "560"}}, at(part, "image_hw")); diff != "" {
		t.Errorf("image_hw (-want +got):\n%s", diff)
	}
	if _, ok := get[object](o["usage"])["total_tokens"]; ok {
		t.Error("total_tokens is there although the input is not plain text")
	}
	if at(o, "usage", "image_tokens") != 200. { // 20 by 10 patches of 28 pixels
		t.Errorf("usage is %v", o["usage"])
	}
	text := at(o, "output", "text")
	if text != nil {
		t.Error("a multimodal model answers in the text format")
	}
}

func TestMultimodalChatIgnoresTextFormat(t *testing.T) {
	r := newRig(t, Config{})
	o := r.post(multimodalPath, say("hi", `"result_format":"text"`)).object(t)
	if at(o, "output", "choices", 0, "message", "content", 0, "text") == nil {
		t.Errorf("output is %v", o["output"])
	}
	// A request to the edit family without any sign of a stream is a chat here.
	o = r.post(multimodalPath, strings.Replace(say("hi", ""), "llm-plus", "gen2.6-image", 1)).object(t)
	if at(o, "output", "choices", 0, "message", "content", 0, "text") == nil {
		t.Errorf("output is %v", o["output"])
	}
}

func BenchmarkText(b *testing.B) {
	s := New(Config{})
	for _, bb := range []struct{ name, body string }{
		{"plain", say("What is a sluice?", "")},
		{"message", say("What is a sluice?", `"result_format":"message"`)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				serveOnce(s, textPath, bb.body)
			}
		})
	}
	b.Run("stream", func(b *testing.B) {
		for b.Loop() {
			serveOnce(s, textPath, say("What is a sluice?", `"incremental_output":true`), sse...)
		}
	})
}

// usageOf is the usage of a chat with these content items.
func usageOf(t *testing.T, r *rig, path, items, parameters string) object {
	t.Helper()
	o := r.post(path, `{"model":"llm-vision","input":{"messages":[{"role":"user","content":[`+items+`]}]},"parameters":{"max_tokens":2`+parameters+`}}`).object(t)
	return get[object](o["usage"])
}

func TestUsage(t *testing.T) {
	r := newRig(t, Config{})
	const picture = `{"image":"https://a.example/b.png"}`
	for _, tt := range []struct {
		name, items, parameters, want string
	}{
		{"plain text", `{"text":"three small words"}`, ``,
			`{"total_tokens":9,"input_tokens":7,"output_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}`},
		{"marked for the cache", `{"text":"three small words","cache_control":{"type":"ephemeral"}}`, ``,
			`{"total_tokens":9,"input_tokens":7,"output_tokens":2,"prompt_tokens_details":{"cached_tokens":0,"cache_creation_input_tokens":3,"cache_type":"ephemeral"}}`},
		{"an image", `{"text":"what"},` + picture, ``,
			`{"input_tokens":1301,"output_tokens":2,"image_tokens":1296,"prompt_tokens_details":{"cached_tokens":0},"input_tokens_details":{"text_tokens":5,"image_tokens":1296}}`},
		{"two images", picture + `,` + picture, ``,
			`{"input_tokens":2596,"output_tokens":2,"image_tokens":2592,"prompt_tokens_details":{"cached_tokens":0},"input_tokens_details":{"text_tokens":4,"image_tokens":2592}}`},
		{"a small image", picture, `,"max_pixels":78400`,
			`{"input_tokens":104,"output_tokens":2,"image_tokens":100,"prompt_tokens_details":{"cached_tokens":0},"input_tokens_details":{"text_tokens":4,"image_tokens":100}}`},
		{"a small image by itself", `{"image":"https://a.example/b.png","max_pixels":78400}`, ``,
			`{"input_tokens":104,"output_tokens":2,"image_tokens":100,"prompt_tokens_details":{"cached_tokens":0},"input_tokens_details":{"text_tokens":4,"image_tokens":100}}`},
		{"high resolution overrules max_pixels", picture, `,"max_pixels":784,"vl_high_resolution_images":true`,
			`{"input_tokens":1373,"output_tokens":2,"image_tokens":1369,"prompt_tokens_details":{"cached_tokens":0},"input_tokens_details":{"text_tokens":4,"image_tokens":1369}}`},
		{"a video", `{"video":"https://a.example/b.mp4"}`, ``,
			`{"input_tokens":516,"output_tokens":2,"video_tokens":512,"prompt_tokens_details":{"cached_tokens":0},"input_tokens_details":{"text_tokens":4,"video_tokens":512}}`},
		{"a sound", `{"audio":"https://a.example/b.wav"}`, ``,
			`{"input_tokens":68,"output_tokens":2,"audio_tokens":64,"prompt_tokens_details":{"cached_tokens":0},"input_tokens_details":{"text_tokens":4,"audio_tokens":64}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want object
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, usageOf(t, r, multimodalPath, tt.items, tt.parameters)); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUsageIsBilled(t *testing.T) {
	r := newRig(t, Config{})
	var sum float64
	for _, parameters := range []string{``, `"max_tokens":7`, `"n":2`, `"enable_thinking":true`} {
		u := get[object](r.post(textPath, say("hi there", parameters)).object(t)["usage"])
		sum += u["total_tokens"].(float64)
	}
	if got := r.Tally().Tokens; got != int64(sum) {
		t.Errorf("billed %d tokens, told %v", got, sum)
	}
}
