package teams_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/teams"
)

const catalogueDoc = `
catalogue: [llm-max, gen2.6-image, llm-plus]
aliases: {gpt-4o: llm-max, dall-e-3: gen2.6-image}
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
	file, err := teams.Parse([]byte(catalogueDoc))
	if err != nil {
		t.Fatal(err)
	}
	for team, want := range map[string][]string{
		"all":    {"dall-e-3", "gen2.6-image", "gpt-4o", "llm-max", "llm-plus", "llm-turbo"},
		"texts":  {"gpt-4o", "llm-max", "llm-own", "llm-plus", "llm-turbo"},
		"spends": {"gpt-4o", "llm-max", "llm-plus", "llm-turbo"},
	} {
		if diff := cmp.Diff(want, file.Names(file.Team(team))); diff != "" {
			t.Errorf("team %s (-want +got):\n%s", team, diff)
		}
	}
	for name, want := range map[string]string{"gpt-4o": "llm-max", "llm-max": "llm-max", "unknown": "unknown"} {
		if got := file.Resolve(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestFaultsOfTheCatalogueAndTheAliases(t *testing.T) {
	for doc, want := range map[string]string{
		"teams: []\ncatalogue: llm-max":                `line 2:12: catalogue: got a single value, allowed: a list of model names`,
		"teams: []\ncatalogue: [a, a]":                 `line 2:16: catalogue[1]: got "a", allowed: each model once`,
		"teams: []\ncatalogue: [\"llm-*\"]":            `line 2:13: catalogue[0]: got "llm-*", allowed: a model's name of 1 to 128 bytes without spaces and *`,
		"teams: []\naliases: [a]":                      `line 2:10: aliases: got a list, allowed: names with the models that they stand for`,
		"teams: []\naliases: {\"gpt *\": llm-max}":     `line 2:11: aliases."gpt *": got "gpt *", allowed: a model's name of 1 to 128 bytes without spaces and *`,
		"teams: []\naliases: {gpt-4o: }":               `line 2:18: aliases.gpt-4o: got no value, allowed: a model's name of 1 to 128 bytes without spaces and *`,
		"teams: []\naliases: {a: b, b: llm-max}":       `line 2:14: aliases.a: got "b", allowed: a model of the service, not another alias`,
		"teams: []\naliases: {a: b, a: c}":             `line 2:17: aliases.a: stands twice, first in line 2`,
		"teams: []\naliases: {gpt-4o: gpt-4o}":         `line 2:19: aliases.gpt-4o: got "gpt-4o", allowed: a model of the service, not another alias`,
		"teams: []\naliases: {gpt-4o: {model: llm-x}}": `line 2:19: aliases.gpt-4o: got fields with values, allowed: a model's name of 1 to 128 bytes without spaces and *`,
	} {
		if got := faultsOf(t, []byte(doc)).Error(); got != want {
			t.Errorf("%q:\n got %s\nwant %s", doc, got, want)
		}
	}
}
