package teams_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy"
	"sluice/policy/label"
	"sluice/policy/teams"
)

const catalogueDoc = `
catalogue: [{id: llm-max, max_output: 32768}, gen2.6-image, llm-plus]
aliases: {gpt-4o: llm-max, dall-e-3: gen2.6-image, claude-haiku-*: llm-plus, "claude-*": llm-max}
prices:
  - {model: llm-turbo, input_per_million: 1}
  - {model: "llm-*", input_per_million: 1}
teams:
  - id: all
  - id: texts
    models: ["llm-*", llm-own]
  - id: spends
    quotas: {spend: {day: 1.00}}
`

func TestModelsAreListedForTheTeamsThatMayAskThem(t *testing.T) {
	file := mustParse(t, catalogueDoc)
	for team, want := range map[string][]string{
		"all":    {"dall-e-3", "gen2.6-image", "gpt-4o", "llm-max", "llm-plus", "llm-turbo"},
		"texts":  {"gpt-4o", "llm-max", "llm-own", "llm-plus", "llm-turbo"},
		"spends": {"gpt-4o", "llm-max", "llm-plus", "llm-turbo"},
	} {
		if diff := cmp.Diff(want, file.Names(file.Team(team), 20261121)); diff != "" {
			t.Errorf("team %s (-want +got):\n%s", team, diff)
		}
	}
	for team, want := range map[string]string{"all": "llm-max", "texts": "llm-max", "spends": "llm-max"} {
		if got := teams.TextModel(file, file.Team(team), nil, 20261121); got != want {
			t.Errorf("team %s tries %q, want %q", team, got, want)
		}
	}
	for own, want := range map[policy.Pattern]string{"llm-own": "llm-own", "llm-t*": "llm-turbo", "gen*": "", "none*": ""} {
		if got := teams.TextModel(file, file.Team("texts"), []policy.Pattern{own}, 20261121); got != want {
			t.Errorf("a key with the models %s tries %q, want %q", own, got, want)
		}
	}
	for name, want := range map[string]string{
		"gpt-4o": "llm-max", "llm-max": "llm-max", "unknown": "unknown", "claude-haiku-4-5": "llm-plus", "claude-opus-4": "llm-max",
		"claude": "claude",
	} {
		if got := file.Resolve(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for model, want := range map[string]int64{"llm-max": 32768, "llm-plus": 0, "gpt-4o": 0, "unknown": 0} {
		if got := file.MaxOutput(model); got != want {
			t.Errorf("an answer of %s has at most %d tokens, want %d", model, got, want)
		}
	}
}

// Models are labelled by the operator's words, whatever clients send.
func TestLabelsOfModelsAreBounded(t *testing.T) {
	file := mustParse(t, `
account: [{models: ["gen2.5-*"], requests: {per: 1s, limit: 5}}]
teams:
  - id: a
    models: ["llm-*", "llm-max", "*"]
prices:
  - {model: "llm-image*", image: 0.2}
  - {model: "*", input_per_million: 1}
`)
	for model, want := range map[string]string{
		"llm-max": "llm-max", "llm-image-2.0": "llm-image*", "llm-plus": "llm-*", "gen2.5-t2i": "gen2.5-*", "": "other", "x": "other",
		"*": "other",
	} {
		if got := file.Label(model); got != want {
			t.Errorf("%q is labelled %q, want %q", model, got, want)
		}
	}
	labels := map[string]bool{}
	for i := range 10_000 {
		labels[file.Label(fmt.Sprintf("llm-%d", i))] = true
		labels[file.Label(fmt.Sprintf("%d", i))] = true
	}
	if len(labels) != 2 {
		t.Errorf("20,000 models have %d labels", len(labels))
	}
	if (&teams.File{}).Label("x") != label.Other {
		t.Error("no teams, no labels")
	}
}
