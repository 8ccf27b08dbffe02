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
		frontChats, `{"model":"llm-think","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"level"}}],"tool_choice":"required"%s}`,
		`,"enable_thinking":false`,
	},
	{
		frontResponses, `{"model":"llm-think","input":"Hi","tools":[{"type":"function","name":"level"}],"tool_choice":"required"%s}`,
		`,"reasoning":{"effort":"none"}`,
	},
	{
		frontMessages, `{"model":"llm-think","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"level","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"}%s}`,
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
