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
