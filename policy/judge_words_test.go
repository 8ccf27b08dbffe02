package policy_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// parameters are all parameters that a rule knows.
var parameters = []string{
	"result_format", "temperature", "top_p", "top_k", "repetition_penalty", "presence_penalty", "logprobs", "top_logprobs",
	"max_pixels", "max_tokens", "max_completion_tokens", "stream", "incremental_output", "enable_thinking", "thinking_budget",
	"enable_code_interpreter", "seed", "stop", "tools", "tool_choice", "parallel_tool_calls", "n", "vl_high_resolution_images",
	"vl_enable_image_hw_output", "response_format", "negative_prompt", "size", "enable_interleave", "max_images",
	"prompt_extend", "watermark",
}

// TestNullIsAbsent gives every parameter as null, one by one and all together, to every kind: no rule is broken, and the
// request equals the one without them.
func TestNullIsAbsent(t *testing.T) {
	all := `"` + strings.Join(parameters, `":null,"`) + `":null`
	for _, tt := range []struct {
		call string
		body func(string) string
	}{
		{"text", func(p string) string { return textBody("llm-max", p) }},
		{"chat", func(p string) string { return chatParameters("llm-vl", p) }},
		{"task", editBody},
		{"sync", syncBody},
	} {
		want := read(t, tt.call, tt.body(""))
		for _, name := range append([]string{all}, parameters...) {
			p := name
			if name != all {
				p = `"` + name + `":null`
			}
			body := tt.body(p)
			got := read(t, tt.call, body)
			if broke := verdict(t, &families, tt.call, body); len(broke) > 0 {
				t.Errorf("%s, %s null: broke %v", tt.call, name, broke)
			}
			if got.Kind != want.Kind || got.N != want.N || got.Images != want.Images || got.Size != want.Size || got.MaxTokens != want.MaxTokens {
				t.Errorf("%s, %s null: %+v", tt.call, name, got)
			}
		}
	}
}

// warning is a Sluice-Warning: a token, then parameters whose values are integers or quoted printable ASCII.
var warning = regexp.MustCompile(
	`^[a-z_.]+(;limit=(-?[0-9]{1,15}|"([ !#-\[\]-~]|\\["\\])*"))?;given=(-?[0-9]{1,15}|"([ !#-\[\]-~]|\\["\\])*")$`)

// TestWordsAreFitToSend checks all messages about breaches of the tables: each is printable ASCII, short, starts with the
// field, ends with the rule, and its header form is a structured field.
func TestWordsAreFitToSend(t *testing.T) {
	checked := 0
	for _, tt := range ruleCases(t) {
		v := judged(t, &all, calls[tt.call], tt.body)
		for _, f := range slices.Concat(v.Violations, v.Warnings) {
			checked++
			said := f.String()
			if len(said) > 600 || strings.ContainsFunc(said, func(c rune) bool { return c < ' ' || c > '~' }) ||
				!strings.HasPrefix(said, f.Field+": given ") || !strings.HasSuffix(said, " ("+f.Rule+")") {
				t.Errorf("%s says %q", f.Rule, said)
			}
			if strings.Contains(f.Field, "[]") || f.Count < 1 {
				t.Errorf("%s: field %q, count %d", f.Rule, f.Field, f.Count)
			}
			if w := f.Warning(); !warning.MatchString(w) {
				t.Errorf("%s warns %s", f.Rule, w)
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d findings", checked)
	}
}

// TestFieldsNameTheFirstOffender gives lists whose first fault is not their first element: the path has its index.
func TestFieldsNameTheFirstOffender(t *testing.T) {
	good := `{"role":"user","content":"a"},`
	tool := oneTool + ","
	for _, tt := range []struct{ call, body, field string }{
		{"text", messageBody("m", strings.Repeat(good, 7)+`{"role":"x","content":"a"},`+good+`{"role":"y","content":"b"}`),
			"input.messages[7].role"},
		{"text", messageBody("m", good+`5`), "input.messages[1]"},
		{"text", messageBody("m", good+`{"role":"user","content":5}`), "input.messages[1].content"},
		{"chat", messageBody("m", `{"role":"user","content":[{"text":"a"}]},{"role":"user","content":[{"text":"a"},{"text":"b"},{"text":5}]}`),
			"input.messages[1].content[2].text"},
		{"chat", messageBody("m", `{"role":"user","content":[{"text":"a"},7]}`), "input.messages[0].content[1]"},
		{"chat", messageBody("m", `{"content":[{"text":"a"},{"image":"x"}],"role":"user"}`), "input.messages[0].content[1].image"},
		{"chat", messageBody("m", `{"content":[{"text":"a"}],"role":"x"}`), "input.messages[0].role"},
		{"text", textBody("m", `"tools":[`+strings.Repeat(tool, 3)+`{"type":"x","function":{"name":"f"}}]`), "parameters.tools[3].type"},
		{"text", textBody("m", `"tools":[`+tool+`{"type":"function","function":{"name":"a b"}}]`), "parameters.tools[1].function.name"},
	} {
		v := judged(t, &families, calls[tt.call], tt.body)
		if len(v.Violations) != 1 || v.Violations[0].Field != tt.field {
			t.Errorf("%s: %v, want %s", tt.body, v.Violations, tt.field)
		}
	}
}
