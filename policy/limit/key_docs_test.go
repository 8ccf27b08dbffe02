package limit_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// The example of docs/money.md is refused with the texts that stand below it.
func TestTheDocumentedKeyIsRefusedAsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/money.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Limits and use by key")
	parts := strings.Split(section, "```")
	file, err := teams.Parse([]byte(strings.TrimPrefix(parts[1], "yaml\n")))
	if err != nil {
		t.Fatal(err)
	}
	team, noon := file.List[0], time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	if k := team.Keys[0]; k.Concurrent != 4 || k.MayUseModel("llm-max") || !k.MayUseModel("gen2.6-image") {
		t.Errorf("%+v", k.KeyLimits)
	}
	for first, n := range map[limit.Amounts]int64{{limit.Images: 50}: 1, {limit.Requests: 60}: 1, {}: 51} {
		m := limit.NewMemory(func() time.Time { return noon })
		hold := func(id string, a limit.Amounts) *limit.Hold {
			return &limit.Hold{ID: id, Team: team, Key: team.Keys[0].ID, Model: "gen2.6-image", Endpoint: policy.EndpointImage, Amounts: a,
				Lease: time.Hour}
		}
		v, err := m.Admit(t.Context(), hold("first", first))
		if err != nil || v.Held == nil {
			t.Fatal(v, err)
		}
		if _, err := m.Settle(t.Context(), &limit.Charge{Held: v.Held, Team: team, Amounts: first}); err != nil {
			t.Fatal(err)
		}
		h := hold("next", limit.Amounts{limit.Requests: 1, limit.Images: n})
		if v, err = m.Admit(t.Context(), h); err != nil || v.Held != nil {
			t.Fatalf("%+v, %v", v, err)
		}
		if said := v.Explain(h); !strings.Contains(section, fmt.Sprintf("`%s`", said)) {
			t.Errorf("docs/money.md lacks %q", said)
		}
	}
}
