package simulator

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMaxTokens(t *testing.T) {
	r := newRig(t, Config{MaxOutput: 50})
	for _, tt := range []struct {
		name, parameters string
		output           int // 0: any
		finish           string
	}{
		{"model's maximum", ``, 50, "length"},
		{"fewer", `"max_tokens":3`, 3, "length"},
		{"one", `"max_tokens":1`, 1, "length"},
		{"more than the model can", `"max_tokens":500`, 50, "length"},
		{"newer name", `"max_completion_tokens":3`, 3, "length"},
		{"both names", `"max_tokens":5,"max_completion_tokens":3`, 3, "length"},
		{"stopped before", `"stop":" "`, 0, "stop"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := r.post(textPath, say("hi", tt.parameters)).object(t)
			text, _ := at(o, "output", "text").(string)
			if n := at(o, "usage", "output_tokens"); n != float64(tokens(text)) || tt.output > 0 && n != float64(tt.output) {
				t.Errorf("%v tokens for %q, want %d", n, text, tt.output)
			}
			if got := at(o, "output", "finish_reason"); got != tt.finish {
				t.Errorf("finished by %v, want %s", got, tt.finish)
			}
		})
	}
}

// An answer of exactly the allowed length is not cut.
func TestMaxTokensExactly(t *testing.T) {
	r := newRig(t, Config{})
	whole := r.post(textPath, say("hi", "")).object(t)
	n := int(at(whole, "usage", "output_tokens").(float64))
	for _, tt := range []struct {
		limit  int
		finish string
	}{{n, "stop"}, {n - 1, "length"}, {n + 1, "stop"}} {
		raw, _ := json.Marshal(tt.limit)
		o := r.post(textPath, say("hi", `"max_tokens":`+string(raw))).object(t)
		if got := at(o, "output", "finish_reason"); got != tt.finish {
			t.Errorf("%d of %d tokens: finished by %v, want %s", tt.limit, n, got, tt.finish)
		}
	}
}

func TestThinkingLimits(t *testing.T) {
	r := newRig(t, Config{})
	for _, tt := range []struct {
		name, parameters  string
		thinking, content int // -1: more than ten
	}{
		{"none", ``, -1, -1},
		{"budget", `,"thinking_budget":5`, 5, -1},
		{"no budget", `,"thinking_budget":0`, 0, -1},
		{"max_tokens does not limit thinking", `,"max_tokens":2`, -1, 2},
		{"max_completion_tokens includes thinking", `,"thinking_budget":5,"max_completion_tokens":8`, 5, 3},
		{"max_completion_tokens eaten by thinking", `,"max_completion_tokens":4`, 4, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := r.post(textPath, say("hi", `"result_format":"message","enable_thinking":true`+tt.parameters)).object(t)
			m := at(o, "output", "choices", 0, "message")
			for name, want := range map[string]int{"reasoning_content": tt.thinking, "content": tt.content} {
				text, _ := at(m, name).(string)
				if got := tokens(text); want >= 0 && got != want || want < 0 && got <= 10 {
					t.Errorf("%s has %d tokens, want %d", name, got, want)
				}
			}
		})
	}
}

// levels are two tools.
const levels = `"result_format":"message","tools":[
	{"type":"function","function":{"name":"get_level","parameters":{"type":"object","properties":{"river":{"type":"string"},"days":{"type":"integer","minimum":3}}}}},
	{"type":"function","function":{"name":"open_gate"}}]`

func TestToolCalls(t *testing.T) {
	r := newRig(t, Config{})
	for _, tt := range []struct {
		name, question, parameters string
		want                       []string // name and arguments
	}{
		{"the first", "hi", ``, []string{`get_level {"days":3,"river":"a river"}`}},
		{"the one mentioned", "please open_gate now", ``, []string{`open_gate {}`}},
		{"the one forced", "hi", `,"tool_choice":{"type":"function","function":{"name":"open_gate"}}`, []string{`open_gate {}`}},
		{"none", "hi", `,"tool_choice":"none"`, nil},
		{"both, one at a time", "get_level and open_gate", ``, []string{`get_level {"days":3,"river":"a river"}`}},
		{"both at once", "get_level and open_gate", `,"parallel_tool_calls":true`, []string{`get_level {"days":3,"river":"a river"}`, `open_gate {}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := r.post(textPath, say(tt.question, levels+tt.parameters)).object(t)
			choice := at(o, "output", "choices", 0)
			list, _ := at(choice, "message", "tool_calls").([]any)
			var calls []string
			for i, call := range list {
				f := at(call, "function")
				calls = append(calls, at(f, "name").(string)+" "+at(f, "arguments").(string))
				id, _ := at(call, "id").(string)
				if at(call, "index") != float64(i) || at(call, "type") != "function" || !strings.HasPrefix(id, "call_") {
					t.Errorf("call is %v", call)
				}
			}
			if diff := cmp.Diff(tt.want, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			content, finish := at(choice, "message", "content"), at(choice, "finish_reason")
			if called := len(calls) > 0; called && (content != "" || finish != "tool_calls") || !called && (content == "" || finish != "stop") {
				t.Errorf("content is %q and finish_reason %v", content, finish)
			}
		})
	}
}

func TestNoToolCallAfterItsResult(t *testing.T) {
	r := newRig(t, Config{})
	body := `{"model":"llm-plus","input":{"messages":[{"role":"user","content":"level?"},
		{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"get_level","arguments":"{}"}}]},
		{"role":"tool","content":"3 m","tool_call_id":"c"}]},"parameters":{` + levels + `}}`
	choice := at(r.post(textPath, body).object(t), "output", "choices", 0)
	if at(choice, "message", "tool_calls") != nil || at(choice, "finish_reason") != "stop" {
		t.Errorf("choice is %v", choice)
	}
}

func TestStructuredOutput(t *testing.T) {
	r := newRig(t, Config{})
	for _, tt := range []struct{ name, format, want string }{
		{"schema", `{"type":"json_schema","json_schema":{"name":"level","schema":{"type":"object","properties":{"metres":{"type":"number","minimum":2}}}}}`, `{"metres":2}`},
		{"object", `{"type":"json_object"}`, ``},
	} {
		o := r.post(textPath, say("level in JSON", `"response_format":`+tt.format)).object(t)
		text, _ := at(o, "output", "text").(string)
		if !json.Valid([]byte(text)) || tt.want != "" && text != tt.want {
			t.Errorf("%s: answer is %s", tt.name, text)
		}
	}
}

func TestStopSequences(t *testing.T) {
	const text = "one two three"
	for _, tt := range []struct {
		name string
		stop any
		want string
	}{
		{"none", nil, text},
		{"a string", " two", "one"},
		{"several: the first place counts", []any{" three", "two"}, "one "},
		{"absent", "four", text},
		{"empty", "", text},
		{"token ids stop nothing", []any{1., 2.}, text},
	} {
		if got := stopped(text, tt.stop); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestSample(t *testing.T) {
	for _, tt := range []struct {
		name, schema, want string
	}{
		{"string", `{"type":"string"}`, `"a river name"`},
		{"nothing said", `{}`, `"a river name"`},
		{"integer", `{"type":"integer"}`, `1`},
		{"integer from a broken minimum", `{"type":"integer","minimum":2.5}`, `3`},
		{"number", `{"type":"number","minimum":2.5}`, `2.5`},
		{"boolean", `{"type":"boolean"}`, `true`},
		{"null", `{"type":"null"}`, `null`},
		{"first of several types", `{"type":["integer","null"]}`, `1`},
		{"enum", `{"enum":["low","high"]}`, `"low"`},
		{"const", `{"const":7}`, `7`},
		{"default", `{"type":"integer","default":9}`, `9`},
		{"object", `{"type":"object","properties":{"b":{"type":"boolean"},"a":{"type":"integer"}}}`, `{"a":1,"b":true}`},
		{"object not so called", `{"properties":{"a":{"type":"integer"}}}`, `{"a":1}`},
		{"property names speak", `{"properties":{"gate-width_m":{"type":"string"}}}`, `{"gate-width_m":"a gate width m"}`},
		{"array", `{"type":"array","items":{"type":"integer"}}`, `[1]`},
		{"array of three", `{"type":"array","items":{"type":"integer"},"minItems":3}`, `[1,1,1]`},
		{"array without end", `{"type":"array","items":{"type":"integer"},"minItems":1000000}`, `[1,1,1,1]`},
		{"any of", `{"anyOf":[{"type":"integer"},{"type":"string"}]}`, `1`},
		{"one of", `{"oneOf":[{"type":"boolean"}]}`, `true`},
		{"empty enum", `{"enum":[],"type":"integer"}`, `1`},
		{"broken branch", `{"anyOf":[7]}`, `"a river name"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var schema object
			if err := json.Unmarshal([]byte(tt.schema), &schema); err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(sample(schema, "river_name", 0))
			if err != nil || string(got) != tt.want {
				t.Errorf("sample of %s is %s (%v), want %s", tt.schema, got, err, tt.want)
			}
		})
	}
}

func TestSampleDepthIsBounded(t *testing.T) {
	for name, build := range map[string]func(object) object{
		"objects": func(in object) object {
			return object{"properties": map[string]any{"p": in}}
		},
		"arrays": func(in object) object {
			return object{"type": "array", "items": in}
		},
		"branches": func(in object) object { return object{"anyOf": []any{in}} },
	} {
		schema := object{"type": "string"}
		for range 1000 {
			schema = build(schema)
		}
		out, err := json.Marshal(sample(schema, "x", 0))
		if err != nil || len(out) > 100 {
			t.Errorf("a deep schema of %s makes %d bytes (%v)", name, len(out), err)
		}
	}
}
