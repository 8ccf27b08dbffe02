package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/policy"
)

// requiring are requests of every dialect that require a call of their only tool. %s is the place of further members.
var requiring = []struct{ path, body, off string }{
	{
		frontChats, `{"model":"llm-think","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function",` +
			`"function":{"name":"level"}}],"tool_choice":"required"%s}`,
		`,"enable_thinking":false`,
	},
	{
		frontResponses, `{"model":"llm-think","input":"Hi","tools":[{"type":"function","name":"level"}],"tool_choice":"required"%s}`,
		`,"reasoning":{"effort":"none"}`,
	},
	{
		frontMessages, `{"model":"llm-think","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"level",` +
			`"input_schema":{"type":"object"}}],"tool_choice":{"type":"any"}%s}`,
		`,"thinking":{"type":"disabled"}`,
	},
}

// A model that thinks by itself cannot be forced to call a tool, although the request does not say that it thinks.
func TestFrontRequiresAToolOfAModelThatThinks(t *testing.T) {
	h := fronted(t, func(p *plan) { p.config.Families.Thinking = []policy.Pattern{"llm-think*"} })
	for _, tt := range requiring {
		for members, warning := range map[string]string{"": `tool_choice;given="required";sent="auto"`, tt.off: ""} {
			got := h.ask("POST", tt.path, fmt.Sprintf(tt.body, members))
			if warned := strings.Join(got.header["Sluice-Warning"], " "); got.status != 200 || warned != warning {
				t.Errorf("%s with %q: %d, warning %q, want %q: %s", tt.path, members, got.status, warned, warning, got.body)
			}
		}
	}
}

// A bound that is lowered takes the thinking with it: else the thinking could use the whole answer.
func TestFrontLowersTheThinkingWithTheAnswer(t *testing.T) {
	h := fronted(t, func(p *plan) { p.teams = "catalogue: [{id: llm-max, max_output: 8192}]\n" })
	for _, tt := range []struct{ path, body, warnings, budget string }{
		{
			frontChats, strings.Replace(frontChat, "{", `{"max_completion_tokens":32000,"enable_thinking":true,"thinking_budget":31999,`, 1),
			"max_completion_tokens;given=32000;sent=8192, thinking_budget;given=31999;sent=8191", "8191",
		},
		{
			frontChats, strings.Replace(frontChat, "{", `{"thinking_budget":4000,"max_completion_tokens":32000,"enable_thinking":true,`, 1),
			"max_completion_tokens;given=32000;sent=8192, thinking_budget;given=4000;sent=1024", "1024",
		},
		{
			frontMessages, strings.Replace(frontMessage, `"max_tokens":256`,
				`"max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":16000}`, 1),
			"max_tokens;given=32000;sent=8192, thinking.budget_tokens;given=16000;sent=4096", "4096",
		},
		{
			frontMessages, strings.Replace(frontMessage, `"max_tokens":256`, `"max_tokens":8192,"thinking":{"type":"enabled","budget_tokens":8192}`,
				1), "", "8192",
		},
	} {
		got := h.ask("POST", tt.path, tt.body)
		if warned := strings.Join(got.header["Sluice-Warning"], ", "); got.status != 200 || warned != tt.warnings {
			t.Errorf("%s: %d, warnings %q, want %q: %s", tt.path, got.status, warned, tt.warnings, got.body)
		}
		if sent := h.sim.Requests(); !strings.Contains(string(sent[len(sent)-1].Body), `"thinking_budget":`+tt.budget) {
			t.Errorf("%s: sent %s, want a budget of %s", tt.path, sent[len(sent)-1].Body, tt.budget)
		}
	}
}
