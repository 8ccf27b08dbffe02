package teams

import (
	"fmt"
	"testing"
)

// H13: models are labelled by the operator's words, whatever clients send.
func TestH13_Label(t *testing.T) {
	teams, err := Parse([]byte(`
account: [{models: ["gen2.5-*"], requests: {per: 1s, limit: 5}}]
teams:
  - id: a
    models: ["llm-*", "llm-max", "*"]
prices:
  - {model: "llm-image*", image: 0.2}
  - {model: "*", input_per_million: 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]string{
		"llm-max": "llm-max", "llm-image-2.0": "llm-image*", "llm-plus": "llm-*", "gen2.5-t2i": "gen2.5-*", "": "other", "x": "other", "*": "other",
	} {
		if got := teams.Label(model); got != want {
			t.Errorf("%q is labelled %q, want %q", model, got, want)
		}
	}
	labels := map[string]bool{}
	for i := range 10_000 {
		labels[teams.Label(fmt.Sprintf("llm-%d", i))] = true
		labels[teams.Label(fmt.Sprintf("%d", i))] = true
	}
	if len(labels) != 2 {
		t.Errorf("20,000 models have %d labels", len(labels))
	}
	if (&File{}).Label("x") != OtherModel {
		t.Error("no teams, no labels")
	}
}
