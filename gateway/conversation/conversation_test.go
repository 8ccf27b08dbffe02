package conversation

import (
	"strings"
	"testing"
)

// A bound above what the model gives is lowered, however large it is. What is no whole number stays, for the rules to refuse.
func TestBoundsAreLowered(t *testing.T) {
	models := &Models{MaxOutput: func(model string) int64 { return map[string]int64{"llm-max": 100}[model] }}
	huge := strings.Repeat("9", 200)
	for _, tt := range []struct{ model, given, sent, warning string }{
		{"llm-max", "100", "100", ""},
		{"llm-max", "101", "100", "max_tokens;given=101;sent=100"},
		{"llm-max", "9223372036854775808", "100", "max_tokens;given=9223372036854775808;sent=100"},
		{"llm-max", huge, "100", "max_tokens;given=" + huge[:64] + ";sent=100"},
		{"llm-max", "-" + huge, "-" + huge, ""},
		{"llm-max", "1e9", "1e9", ""},
		{"llm-max", `"101"`, `"101"`, ""},
		{"llm-plus", huge, huge, ""},
	} {
		var w Warnings
		if sent := string(models.Lower(tt.model, "max_tokens", []byte(tt.given), &w)); sent != tt.sent || strings.Join(w, " ") != tt.warning {
			t.Errorf("%s of %s: %s, %q", tt.given, tt.model, sent, w)
		}
	}
}

// A tool is named by its place in the client's request, and all else as it is.
func TestToolsAreNamedByTheClientsPlaces(t *testing.T) {
	params := func(field string) string { return strings.TrimPrefix(field, "parameters.") }
	moved := Request{Tools: []string{"tools[1]", "tools[2].tools[0]"}}
	for field, want := range map[string]string{
		"parameters.tools[0].name": "tools[1].name", "parameters.tools[1].name": "tools[2].tools[0].name", "parameters.tools[1]": "tools[2].tools[0]",
		"parameters.tools[2].name": "tools[2].name", "parameters.tools": "tools", "parameters.tools[]": "tools[]", "top_p": "top_p", "": "",
		"parameters.tools[-1].name": "tools[-1].name", "parameters.stop[1]": "stop[1]",
	} {
		if got := moved.Places(params)(field); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
		if got := new(Request).Places(params)(field); got != params(field) {
			t.Errorf("%s of tools that have not moved: %s", field, got)
		}
	}
}

// A budget of the thinking keeps its share of a bound that is lowered, however large both are: of two budgets the larger stays so.
func TestBudgetsAreLoweredWithTheirBound(t *testing.T) {
	huge := strings.Repeat("9", 200)
	for _, tt := range []struct{ budget, given, sent, want string }{
		{"31999", "32000", "8192", "8191"},
		{"16000", "32000", "8192", "4096"},
		{"8192", "32000", "8192", "2097"},
		{"8191", "32000", "8192", "2096"},
		{"4000", "32000", "8192", "1024"},
		{"1", "32000", "8192", "1"},
		{"0", "32000", "8192", "0"},
		{"40000", "32000", "8192", "8192"},
		{"31999", "32000", "32000", "31999"},
		{huge, huge, "8192", "8192"},
		{huge, "32000", "8192", "8192"},
		{"9000", huge, "8192", "1"},
		{"100", "32000", "100", "1"},
		{"-1", "32000", "8192", "-1"},
		{`"9000"`, "32000", "8192", `"9000"`},
		{"9000", "", "", "9000"},
		{"", "32000", "8192", ""},
	} {
		var w Warnings
		warning := "budget;given=" + Brief(tt.budget) + ";sent=" + tt.want
		if tt.want == tt.budget {
			warning = ""
		}
		if got := string(LowerBudget("budget", []byte(tt.budget), []byte(tt.given), []byte(tt.sent), &w)); got != tt.want ||
			strings.Join(w, " ") != warning {
			t.Errorf("%s of %s, of which %s are sent: %s, %q, want %s", tt.budget, tt.given, tt.sent, got, w, tt.want)
		}
	}
}
