package teams_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy"
	"sluice/policy/teams"
)

// TestMayUse: absent is all but other, present is exactly what is listed.
func TestMayUse(t *testing.T) {
	teams := mustParse(t, `
teams:
  - id: all
  - id: some
    endpoints: [image, tasks]
    models: ["llm-*", gen2.6-image]
`)
	all, some := teams.Team("all"), teams.Team("some")
	for _, endpoint := range policy.Endpoints {
		want := endpoint == policy.EndpointImage || endpoint == policy.EndpointTasks
		if all.MayUse(endpoint) != (endpoint != policy.EndpointOther) || some.MayUse(endpoint) != want {
			t.Errorf("%s: all may %v, some may %v", endpoint, all.MayUse(endpoint), some.MayUse(endpoint))
		}
	}
	if diff := cmp.Diff([]policy.Endpoint{"text", "multimodal", "image", "tasks", "embeddings"}, all.Uses()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(some.Endpoints, some.Uses()); diff != "" {
		t.Error(diff)
	}
	for model, want := range map[string]bool{
		"llm-max": true, "gen2.6-image": true, "LLM-max": false, "gen2.6-image-2": false, "xllm-max": false, "": false,
	} {
		if !all.MayUseModel(model) || some.MayUseModel(model) != want {
			t.Errorf("%q: all may %v, some may %v", model, all.MayUseModel(model), some.MayUseModel(model))
		}
	}
}

// TestDefaultsDoNotBreakADirectory: a team of the directory without a tag was right when it was written, whatever quotas of a tag's
// values the file's defaults get. As the whole document would be refused, no later change of any team would come into force.
func TestDefaultsDoNotBreakADirectory(t *testing.T) {
	file := mustParse(t, string(readDoc(t, "testdata/read/tags.yaml")))
	const document = `{"teams":[{"id":"untagged","tag_key":"none"},{"id":"less","tag_key":"none",` +
		`"tag_quotas":{"images":{"month":"none"}}},{"id":"tagged"}]}`
	if _, err := teams.ReadDocument([]byte(document)); err != nil {
		t.Fatal(err)
	}
	joined, ignored, err := file.Join([]byte(document), none)
	if err != nil || len(ignored) > 0 {
		t.Fatal(err, ignored)
	}
	for _, id := range []string{"untagged", "less"} {
		if team := joined.Team(id); team.TagKey != "" || team.TagQuotas != nil {
			t.Errorf("%s: %q %v", id, team.TagKey, team.TagQuotas)
		}
	}
	if team := joined.Team("tagged"); team.TagKey != "project" || len(team.TagQuotas) != 2 {
		t.Errorf("%q %v", team.TagKey, team.TagQuotas)
	}
	for _, own := range []string{
		`{"teams":[{"id":"own","tag_key":"none","tag_quotas":{"requests":{"day":1}}}]}`,
		`{"teams":[{"id":"own","tag_key":"none","tag_quotas":{"images":{"month":91}}}]}`,
	} {
		if _, _, err := file.Join([]byte(own), none); err == nil {
			t.Errorf("%s is read", own)
		}
	}
}
