package gateway_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/telemetry"
)

// TestRecordHasTheBrokenRules: those that the client was warned of, and those for which the request was refused.
func TestRecordHasTheBrokenRules(t *testing.T) {
	h := build(t)
	const input = `"input":{"messages":[{"role":"user","content":"A lighthouse"}]}}`
	for n, tt := range []struct {
		parameters string
		want       []telemetry.BrokenRule
	}{
		{`{"seed":1}`, nil},
		{`{"top_k":101}`, []telemetry.BrokenRule{{ID: "text.top_k.disabled"}}},
		{`{"top_p":7,"seed":-1,"top_k":101}`, []telemetry.BrokenRule{{ID: "text.top_k.disabled"}, {ID: "text.top_p", Refused: true}, {ID: "text.seed", Refused: true}}},
	} {
		h.ask("POST", textPath, `{"model":"llm-plus","parameters":`+tt.parameters+`,`+input)
		if diff := cmp.Diff(tt.want, h.records.await(t, n+1)[n].Broken); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.parameters, diff)
		}
	}
}
