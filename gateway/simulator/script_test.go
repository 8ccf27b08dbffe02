package simulator

import (
	"strings"
	"testing"
)

// A script is played turn after turn: what was called before says where it is. A repeated request gets the same turn.
func TestScript(t *testing.T) {
	r := newRig(t, Config{MaxOutput: 5, Script: [][]ScriptedCall{
		{{Name: "get_level", Arguments: `{"days":1}`}, {Name: "open_gate", Arguments: `{}`}}, {{Name: "open_gate", Arguments: `{"to":2}`}},
	}})
	turn := func(n string) string {
		return `{"role":"assistant","content":"","tool_calls":[{"id":"` + n +
			`","type":"function","function":{"name":"get_level","arguments":"{}"}}]},{"role":"tool","content":"3 m","tool_call_id":"` + n + `"}`
	}
	ask := func(turns ...string) string {
		messages := strings.Join(append([]string{`{"role":"user","content":"hi"}`}, turns...), ",")
		return r.post(textPath, `{"model":"llm-plus","input":{"messages":[`+messages+`]},"parameters":{`+levels+`}}`).body
	}
	for _, tt := range []struct {
		story, answer string
		want          []string
	}{
		{"the first turn", ask(), []string{`"arguments":"{\"days\":1}"`, `"name":"open_gate"`, `"index":1`}},
		{"the first turn again", ask(), []string{`"arguments":"{\"days\":1}"`}},
		{"the second", ask(turn("a")), []string{`"arguments":"{\"to\":2}"`}},
		{"behind the end", ask(turn("a"), turn("b")), []string{`"finish_reason":"length"`}},
		{"without the tools", r.post(textPath, say("hi", `"result_format":"message"`)).body, []string{`"finish_reason":"length"`}},
	} {
		for _, want := range tt.want {
			if !strings.Contains(tt.answer, want) {
				t.Errorf("%s: %s, want %s", tt.story, tt.answer, want)
			}
		}
	}
}
