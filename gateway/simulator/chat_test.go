package simulator

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What a chat's parameters make of its answer. A check is "path=value", or "#path=n" for the tokens of a text; only "path":
// absent.
func TestChatAnswers(t *testing.T) {
	r := newRig(t, Config{MaxOutput: 50})
	const message, thinking = `"result_format":"message"`, `"result_format":"message","enable_thinking":true`
	const first = "output.choices.0.message."
	vision := func(parameters string) string {
		return `{"model":"llm-vision","input":{"messages":[{"role":"system","content":[{"text":"Be brief."}]},
			{"role":"user","content":[{"image":"` + dataURI("image/png", pngOf(560, 280, true)) + `"},{"text":"What is this?"}]}]},"parameters":{` +
			parameters + `}}`
	}
	afterTool := `{"model":"llm-plus","input":{"messages":[{"role":"user","content":"level?"},
		{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"get_level","arguments":"{}"}}]},
		{"role":"tool","content":"3 m","tool_call_id":"c"}]},"parameters":{` + levels + `}}`
	call := func(i int, name, arguments string) string {
		at := fmt.Sprintf("%stool_calls.%d.", first, i)
		return fmt.Sprintf(
			"%sfunction.name=%s|%sfunction.arguments=%s|%sindex=%d|%stype=function|%scontent=|output.choices.0.finish_reason=tool_calls", at, name,
			at, arguments, at, i, at, first)
	}
	none := first + "tool_calls|#" + first + "content=5|output.choices.0.finish_reason=length"
	level, gate := call(0, "get_level", `{"days":3,"river":"a river"}`), call(0, "open_gate", "{}")
	for _, tt := range []struct{ name, path, body, checks string }{
		{"the model's maximum", textPath, say("hi", ``), "#output.text=50|usage.output_tokens=50|output.finish_reason=length"},
		{"fewer", textPath, say("hi", `"max_tokens":3`), "#output.text=3|usage.output_tokens=3|output.finish_reason=length"},
		{"one", textPath, say("hi", `"max_tokens":1`), "#output.text=1|output.finish_reason=length"},
		{"more than the model can", textPath, say("hi", `"max_tokens":500`), "#output.text=50|output.finish_reason=length"},
		{"the newer name", textPath, say("hi", `"max_completion_tokens":3`), "#output.text=3"},
		{"both names", textPath, say("hi", `"max_tokens":5,"max_completion_tokens":3`), "#output.text=3"},
		{"stopped before", textPath, say("hi", `"stop":" "`), "output.text=Thank|output.finish_reason=stop"},

		{"budget", textPath, say("hi", thinking+`,"thinking_budget":5,"max_tokens":4`),
			"#" + first + "reasoning_content=5|#" + first +
				"content=4|usage.output_tokens_details.reasoning_tokens=5|usage.output_tokens_details.text_tokens=4"},
		{"no budget", textPath, say("hi", thinking+`,"thinking_budget":0`), first + "reasoning_content=|#" + first + "content=50"},
		{"max_tokens does not limit thinking", textPath, say("hi", thinking+`,"max_tokens":2`),
			"#" + first + "reasoning_content=52|#" + first + "content=2"},
		{"max_completion_tokens includes thinking", textPath, say("hi", thinking+`,"thinking_budget":5,"max_completion_tokens":8`),
			"#" + first + "reasoning_content=5|#" + first + "content=3"},
		{"max_completion_tokens eaten by thinking", textPath, say("hi", thinking+`,"max_completion_tokens":4`),
			"#" + first + "reasoning_content=4|" + first + "content="},
		{"no thinking", textPath, say("hi", message), first + "reasoning_content|usage.output_tokens_details"},

		{"the first tool", textPath, say("hi", levels), level},
		{"the tool mentioned", textPath, say("please open_gate now", levels), gate},
		{"the tool forced", textPath, say("hi", levels+`,"tool_choice":{"type":"function","function":{"name":"open_gate"}}`), gate},
		{"no tool", textPath, say("hi", levels+`,"tool_choice":"none","max_tokens":5`), none},
		{"one tool at a time", textPath, say("get_level and open_gate", levels), level + "|" + first + "tool_calls.1"},
		{"both tools at once", textPath, say("get_level and open_gate", levels+`,"parallel_tool_calls":true`),
			level + "|" + call(1, "open_gate", "{}")},
		{"no tool after its result", textPath, strings.Replace(afterTool, `"parameters":{`, `"parameters":{"max_tokens":5,`, 1), none},

		{"a schema", textPath, say("level in JSON", `"response_format":{"type":"json_schema","json_schema":{"name":"l",`+
			`"schema":{"type":"object","properties":{"metres":{"type":"number","minimum":2}}}}}`), `output.text={"metres":2}`},
		{"log probabilities", textPath, say("hi", message+`,"logprobs":true,"top_logprobs":2,"max_tokens":2`),
			first + "content=Thank you|output.choices.0.logprobs.content.0.token=Thank|" +
				"output.choices.0.logprobs.content.1.token= " +
				"you|output.choices.0.logprobs.content.2|output.choices.0.logprobs.content.0.top_logprobs.0.token=Thank|output.choices.0.logprobs.content.0.top_logprobs.2"},
		{"no log probabilities", textPath, say("hi", message+`,"top_logprobs":2`), "output.choices.0.logprobs"},
		{"an older prompt", textPath, `{"model":"llm-plus","input":{"prompt":"And a weir?","history":[{"user":"What is a sluice?",` +
			`"bot":"A gate."}]},"parameters":{"max_tokens":7}}`,
			"usage.input_tokens=24"}, // 4, 5 and 3, and 4 for each

		{"a picture's size", multimodalPath, vision(`"vl_enable_image_hw_output":true`),
			first + "content.0.image_hw.0.0=280|" + first + "content.0.image_hw.0.1=560|usage.image_tokens=200|usage.total_tokens|output.text"},
		{"no text format", multimodalPath, vision(`"result_format":"text","max_tokens":1`),
			"#" + first + "content.0.text=1|" + first + "content.0.image_hw"},
		{"an edit without a sign of a stream", multimodalPath, strings.Replace(say("hi", `"max_tokens":1`), "llm-plus", "gen2.6-image", 1),
			"#" + first + "content.0.text=1"},
	} {
		o := r.post(tt.path, tt.body).object(t)
		for check := range strings.SplitSeq(tt.checks, "|") {
			path, want, present := strings.Cut(check, "=")
			got := at(o, strings.TrimPrefix(path, "#"))
			if path[0] == '#' {
				got = tokens(text(o, path[1:]))
			}
			if present != (got != nil) || present && fmt.Sprint(got) != want {
				t.Errorf("%s: %s is %v, want %q", tt.name, path, got, want)
			}
		}
	}
	// An answer of exactly the allowed length is not cut.
	r = newRig(t, Config{})
	n := int(at(r.post(textPath, say("hi", "")).object(t), "usage.output_tokens").(float64))
	for limit, want := range map[int]string{n - 1: "length", n: "stop", n + 1: "stop"} {
		if got := at(r.post(textPath, say("hi", fmt.Sprintf(`"max_tokens":%d`, limit))).object(t), "output.finish_reason"); got != want {
			t.Errorf("%d of %d tokens: finished by %v, want %s", limit, n, got, want)
		}
	}
	if raw := text(r.post(textPath, say("in JSON", `"response_format":{"type":"json_object"}`)).object(t),
		"output.text"); !json.Valid([]byte(raw)) {
		t.Errorf("the answer in JSON is %s", raw)
	}
}

func TestTheSameRequestGetsTheSameText(t *testing.T) {
	r := newRig(t, Config{})
	answer := func(body string) string { return text(r.post(textPath, body).object(t), "output.text") }
	first := answer(say("a gate", `"seed":1`))
	for name, body := range map[string]string{"request": say("a gate", `"seed":1`),
		"words in another form": say("a gate", `"seed":1,"enable_thinking":true`)} {
		if again := answer(body); again != first {
			t.Errorf("the same %s got\n%q and\n%q", name, first, again)
		}
	}
	for name, body := range map[string]string{
		"seed": say("a gate", `"seed":2`), "words": say("a weir", `"seed":1`),
		"model": strings.Replace(say("a gate", `"seed":1`), "llm-plus", "llm-max", 1),
		"turn":  strings.Replace(say("a gate", `"seed":1`), `}]`, `},{"role":"user","content":""}]`, 1),
	} {
		if answer(body) == first {
			t.Errorf("another %s got the same text", name)
		}
	}
}

func TestSeveralAnswers(t *testing.T) {
	r := newRig(t, Config{})
	one := r.post(textPath, say("hi", `"result_format":"message"`)).object(t)
	o := r.post(textPath, say("hi", `"result_format":"message","n":3`)).object(t)
	seen := map[any]bool{}
	for i, choice := range get[[]any](o, "output", "choices") {
		if seen[at(choice, "message.content")] = true; at(choice, "index") != float64(i) {
			t.Errorf("choice %d has index %v", i, at(choice, "index"))
		}
	}
	if a, b := at(one, "usage.output_tokens").(float64), at(o, "usage.output_tokens").(float64); len(seen) != 3 || b < 2*a {
		t.Errorf("%d different answers of 3; three took %v tokens, one %v", len(seen), b, a)
	}
}

func TestUsage(t *testing.T) {
	r := newRig(t, Config{})
	const picture = `{"image":"https://a.example/b.png"}`
	details := func(text int, kind string, n int) string {
		return fmt.Sprintf(`{"input_tokens":%d,"output_tokens":2,"%s_tokens":%d,"prompt_tokens_details":{"cached_tokens":0},`+
			`"input_tokens_details":{"text_tokens":%d,"%[2]s_tokens":%[3]d}}`, text+n, kind, n, text)
	}
	for _, tt := range []struct{ name, items, parameters, want string }{
		{"plain text", `{"text":"three small words"}`, ``, `{"total_tokens":9,"input_tokens":7,"output_tokens":2,` +
			`"prompt_tokens_details":{"cached_tokens":0}}`},
		{"marked for the cache", `{"text":"three small words","cache_control":{"type":"ephemeral"}}`, ``,
			`{"total_tokens":9,"input_tokens":7,"output_tokens":2,"prompt_tokens_details":{"cached_tokens":0,"cache_creation_input_tokens":3,` +
				`"cache_type":"ephemeral"}}`},
		{"an image", `{"text":"what"},` + picture, ``, details(5, "image", 1296)},
		{"two images", picture + `,` + picture, ``, details(4, "image", 2592)},
		{"a small image", picture, `,"max_pixels":78400`, details(4, "image", 100)},
		{"a small image by itself", `{"image":"https://a.example/b.png","max_pixels":78400}`, ``, details(4, "image", 100)},
		{"high resolution overrules max_pixels", picture, `,"max_pixels":784,"vl_high_resolution_images":true`, details(4, "image", 1369)},
		{"a video", `{"video":"https://a.example/b.mp4"}`, ``, details(4, "video", 512)},
		{"a sound", `{"audio":"https://a.example/b.wav"}`, ``, details(4, "audio", 64)},
	} {
		o := r.post(multimodalPath, `{"model":"llm-vision","input":{"messages":[{"role":"user","content":[`+tt.items+
			`]}]},"parameters":{"max_tokens":2`+tt.parameters+`}}`).object(t)
		if diff := cmp.Diff(got{body: tt.want}.object(t), get[object](o["usage"])); diff != "" {
			t.Errorf("%s: usage (-want +got):\n%s", tt.name, diff)
		}
	}
	r.Reset()
	var sum float64
	for _, parameters := range []string{``, `"max_tokens":7`, `"n":2`, `"enable_thinking":true`} {
		sum += at(r.post(textPath, say("hi there", parameters)).object(t), "usage.total_tokens").(float64)
	}
	if got := r.Tally().Tokens; got != int64(sum) {
		t.Errorf("billed %d tokens, told %v", got, sum)
	}
}

func TestReadPrompt(t *testing.T) {
	for _, tt := range []struct {
		name, input string
		question    string
		afterTool   bool
		text        int
	}{
		{"one message", `{"messages":[{"role":"user","content":"a gate"}]}`, "a gate", false, 6},
		{"the last user's words", `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user",` +
			`"content":"c"}]}`, "c", false, 15},
		{"not the assistant's", `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, "a", false, 10},
		{"items are joined", `{"messages":[{"role":"user","content":[{"text":"a"},{"text":"gate"}]}]}`, "a gate", false, 6},
		{"after a tool", `{"messages":[{"role":"user","content":"a"},{"role":"tool","content":"7"}]}`, "a", true, 10},
		{"before a tool", `{"messages":[{"role":"tool","content":"7"},{"role":"user","content":"a"}]}`, "a", false, 10},
		{"prompt with history", `{"prompt":"c","history":[{"user":"a","bot":"b"}]}`, "c", false, 15},
		{"messages beat the prompt", `{"prompt":"x y z","messages":[{"role":"user","content":"a"}]}`, "a", false, 5},
		{"Chinese", `{"messages":[{"role":"user","content":"水闸"}]}`, "水闸", false, 6},
	} {
		in := got{body: tt.input}.object(t)
		if p := readPrompt(&call{input: in}); p.question != tt.question || p.afterTool != tt.afterTool || p.text != tt.text ||
			p.inputTokens() != tt.text {
			t.Errorf("%s: question %q, after a tool %v, %d tokens; want %q, %v, %d", tt.name, p.question, p.afterTool, p.text, tt.question,
				tt.afterTool, tt.text)
		}
	}
}

func TestStopSequences(t *testing.T) {
	const text = "one two three"
	for name, tt := range map[string]struct {
		stop any
		want string
	}{
		"none": {nil, text}, "a string": {" two", "one"}, "several: the first place counts": {[]any{" three", "two"}, "one "},
		"absent": {"four", text}, "empty": {"", text}, "token ids stop nothing": {[]any{1., 2.}, text},
	} {
		if got := stopped(text, tt.stop); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestSample(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"string"}`: `"a river name"`, `{}`: `"a river name"`, `{"type":"integer"}`: `1`, `{"type":"boolean"}`: `true`,
		`{"type":"null"}`:                  `null`,
		`{"type":"integer","minimum":2.5}`: `3`, `{"type":"number","minimum":2.5}`: `2.5`, `{"type":["integer","null"]}`: `1`,
		`{"enum":["low","high"]}`: `"low"`, `{"enum":[],"type":"integer"}`: `1`, `{"const":7}`: `7`, `{"type":"integer","default":9}`: `9`,
		`{"type":"object","properties":{"b":{"type":"boolean"},"a":{"type":"integer"}}}`: `{"a":1,"b":true}`,
		`{"properties":{"a":{"type":"integer"}}}`:                                        `{"a":1}`,
		`{"properties":{"gate-width_m":{"type":"string"}}}`:                              `{"gate-width_m":"a gate width m"}`,
		`{"type":"array","items":{"type":"integer"}}`:                                    `[1]`,
		`{"type":"array","items":{"type":"integer"},"minItems":3}`:                       `[1,1,1]`,
		`{"type":"array","items":{"type":"integer"},"minItems":1000000}`:                 `[1,1,1,1]`,
		`{"anyOf":[{"type":"integer"},{"type":"string"}]}`:                               `1`, `{"oneOf":[{"type":"boolean"}]}`: `true`,
		`{"anyOf":[7]}`: `"a river name"`,
	} {
		if out, err := json.Marshal(sample(got{body: schema}.object(t), "river_name", 0)); err != nil || string(out) != want {
			t.Errorf("sample of %s is %s (%v), want %s", schema, out, err, want)
		}
	}
	for name, build := range map[string]func(object) object{ // the depth is bounded
		"objects":  func(in object) object { return object{"properties": map[string]any{"p": in}} },
		"arrays":   func(in object) object { return object{"type": "array", "items": in} },
		"branches": func(in object) object { return object{"anyOf": []any{in}} },
	} {
		schema := object{"type": "string"}
		for range 1000 {
			schema = build(schema)
		}
		if out, err := json.Marshal(sample(schema, "x", 0)); err != nil || len(out) > 100 {
			t.Errorf("a deep schema of %s makes %d bytes (%v)", name, len(out), err)
		}
	}
}

func TestStreamSwitch(t *testing.T) {
	usual, other := newRig(t, Config{}), newRig(t, Config{HeaderPrefix: "X-Other-"})
	for _, tt := range []struct {
		name       string
		r          *rig
		parameters string
		header     []string
		stream     bool
	}{
		{"header", usual, ``, sse, true},
		{"other casing of the name", usual, ``, []string{"x-service-sse", "enable"}, true},
		{"other casing of the value", usual, ``, []string{"X-Service-Sse", "Enable"}, true},
		{"disable", usual, ``, []string{"X-Service-SSE", "disable"}, false},
		{"another word", usual, ``, []string{"X-Service-SSE", "true"}, false},
		{"accept", usual, ``, []string{"Accept", "text/event-stream"}, true},
		{"accept among others", usual, ``, []string{"Accept", "application/json, Text/Event-Stream;q=0.9"}, true},
		{"accept something else", usual, ``, []string{"Accept", "application/json"}, false},
		{"the parameter alone", usual, `"stream":true`, nil, false},
		{"disable, which counts as absent, and accept", usual, ``, []string{"X-Service-SSE", "disable", "Accept", "text/event-stream"}, true},
		{"another service's header", usual, ``, []string{"X-Other-SSE", "enable"}, false},
		{"another prefix", other, ``, []string{"X-Other-SSE", "enable"}, true},
		{"the usual header there", other, ``, sse, false},
	} {
		g := tt.r.post(textPath, say("hi", tt.parameters), tt.header...)
		if got := strings.HasPrefix(g.header.Get("Content-Type"), "text/event-stream"); got != tt.stream {
			t.Errorf("%s: streams %v, want %v", tt.name, got, tt.stream)
		}
	}
}

// A stream has the content of the whole answer, in increments or cumulative; its usage is cumulative, and only its last frame has
// a finish_reason and the images' sizes.
func TestStreams(t *testing.T) {
	r := newRig(t, Config{FrameTokens: 3})
	const first = "output.choices.0."
	vision := `{"model":"llm-vision","input":{"messages":[{"role":"user","content":[{"text":"水闸 gate"},` +
		`{"image":"https://a.example/b.png"}]}]},"parameters":{"vl_enable_image_hw_output":true%s}}`
	chat := func(parameters string) string { return say("水闸 gate", parameters+"%s") }
	for _, tt := range []struct{ name, path, body, text, finish string }{
		{"text", textPath, chat(`"result_format":"text"`), "output.text", "output.finish_reason=stop"},
		{"cut", textPath, chat(`"max_tokens":30`), "output.text", "output.finish_reason=length"},
		{"message", textPath, chat(`"result_format":"message"`), first + "message.content", first + "finish_reason=stop"},
		{"thinking", textPath, chat(`"result_format":"message","enable_thinking":true`), first + "message.content", first + "finish_reason=stop"},
		{"thoughts", textPath, chat(`"result_format":"message","enable_thinking":true`), first + "message.reasoning_content",
			first + "finish_reason=stop"},
		{"second choice", textPath, chat(`"result_format":"message","n":2`), "output.choices.1.message.content", ""},
		{"multimodal", multimodalPath, vision, first + "message.content.0.text", first + "finish_reason=stop"},
		{"tool arguments", textPath, chat(levels), first + "message.tool_calls.0.function.arguments", first + "finish_reason=tool_calls"},
	} {
		whole := r.post(tt.path, fmt.Sprintf(tt.body, "")).object(t)
		for _, incremental := range []bool{true, false} {
			events := r.post(tt.path, fmt.Sprintf(tt.body, fmt.Sprintf(`,"incremental_output":%v`, incremental)), sse...).events(t)
			told, output := "", -1.
			for i, e := range events {
				o, last := e.object(t), i == len(events)-1
				switch s := text(o, tt.text); {
				case incremental:
					told += s
				case !strings.HasPrefix(s, told):
					t.Errorf("%s: a cumulative frame took text back: %q, then %q", tt.name, told, s)
				default:
					told = s
				}
				if path, want, ok := strings.Cut(tt.finish, "="); ok && (text(o, path) == want) != last || ok && !last && text(o, path) != "null" {
					t.Errorf("%s: frame %d of %d has finish_reason %q, want %s", tt.name, i, len(events), text(o, path), want)
				}
				if hw := at(o, first+"message.content.0.image_hw"); tt.path == multimodalPath && (hw != nil) != last {
					t.Errorf("%s: frame %d of %d has image_hw %v", tt.name, i, len(events), hw)
				}
				in, out := at(o, "usage.input_tokens").(float64), at(o, "usage.output_tokens").(float64)
				if total := at(o, "usage.total_tokens"); out <= output || in != at(whole, "usage.input_tokens") || total != nil && total != in+out {
					t.Errorf("%s: frame %d has usage %v after %v output tokens", tt.name, i, o["usage"], output)
				}
				output = out
			}
			if len(events) < 2 || told == "" || told != at(whole, tt.text) || output != at(whole, "usage.output_tokens") {
				t.Errorf("%s: %d frames with %v tokens told\n%q, whole\n%q", tt.name, len(events), output, told, at(whole, tt.text))
			}
		}
	}
}

func TestFrameDelay(t *testing.T) {
	r := newRig(t, Config{FrameTokens: 1000, FrameDelay: 30 * time.Millisecond})
	begun := time.Now()
	r.post(textPath, say("hi", ""), sse...).events(t)
	if took := time.Since(begun); took < 30*time.Millisecond {
		t.Errorf("one frame took %v, want at least 30 ms", took)
	}
}

func BenchmarkText(b *testing.B) {
	s := New(Config{})
	for name, bb := range map[string]struct {
		parameters string
		header     []string
	}{"plain": {}, "message": {`"result_format":"message"`, nil}, "stream": {`"incremental_output":true`, sse}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				serveOnce(s, textPath, say("What is a sluice?", bb.parameters), bb.header...)
			}
		})
	}
}
