package teams_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/policy"
	"sluice/policy/teams"
)

// TestDefaultsFillATeam: a team has its own limits, and the defaults for the rest.
func TestDefaultsFillATeam(t *testing.T) {
	list := mustParse(t, `
teams:
  - id: plain
  - id: own
    models: [llm-max]
    endpoints: [text]
    rates: {requests: {per: 1s, limit: 5}, tokens: none}
    quotas: {images: {day: 7}, tokens: {month: none}, spend: {day: 0}}
    concurrent: none
    open_tasks: 3
    shadow: false
    rules: {header.sse: off}
  - {id: after}
defaults:
  models: ["llm-*"]
  endpoints: [text, tasks]
  rates: {requests: {per: 1m, limit: 600, burst: 60}, tokens: {per: 1m, limit: 10}, images: none}
  quotas: {images: {day: 500, month: 10000}, tokens: {day: 1, month: 2}}
  concurrent: 10
  open_tasks: 20
  shadow: true
  rules: {header.sse: warn, header.async: warn}
`)
	requests := teams.Rate{Unit: "requests", Per: time.Minute, PerText: "1m", Limit: 600, Burst: 60}
	tokens := teams.Rate{Unit: "tokens", Per: time.Minute, PerText: "1m", Limit: 10, Burst: 10}
	plain := teams.Team{
		ID: "plain", Owner: teams.OwnerFile, Models: []policy.Pattern{"llm-*"}, Endpoints: []policy.Endpoint{"text", "tasks"},
		Rates:      []teams.Rate{requests, tokens},
		Quotas:     []teams.Quota{{"tokens", "day", 1}, {"tokens", "month", 2}, {"images", "day", 500}, {"images", "month", 10000}},
		Concurrent: 10, OpenTasks: 20, Shadow: true,
		Modes: policy.Modes{"header.sse": "warn", "header.async": "warn"},
	}
	after := plain
	after.ID = "after"
	own := teams.Team{
		ID: "own", Owner: teams.OwnerFile, Models: []policy.Pattern{"llm-max"}, Endpoints: []policy.Endpoint{"text"},
		// A team's own rate takes nothing from the default one, not even the burst.
		Rates:     []teams.Rate{{Unit: "requests", Per: time.Second, PerText: "1s", Limit: 5, Burst: 5}},
		Quotas:    []teams.Quota{{"tokens", "day", 1}, {"images", "day", 7}, {"images", "month", 10000}, {"spend", "day", 0}},
		OpenTasks: 3,
		Modes:     policy.Modes{"header.sse": "off", "header.async": "warn"},
	}
	if diff := cmp.Diff([]*teams.Team{&plain, &own, &after}, list.List); diff != "" {
		t.Errorf("the merged rates differ (-want +got):\n%s", diff)
	}
}

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
	if diff := cmp.Diff([]policy.Endpoint{"text", "multimodal", "image", "tasks"}, all.Uses()); diff != "" {
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

const tagQuotasDoc = `
defaults: {tag_key: project, tag_quotas: {spend: {day: 5.00}, images: {month: 90}}}
teams:
  - {id: defaults}
  - {id: own, tag_key: user, tag_quotas: {spend: {day: none, month: 60.5}, requests: {day: 0}}}
  - {id: none, tag_quotas: {spend: {day: none}, images: {month: none}}}
prices: [{model: "*", image: 0.2}]
currency: CNY
`

// Quotas of each value of the tag are read as the team's own, with the defaults.
func TestTagQuotas(t *testing.T) {
	file := mustParse(t, tagQuotasDoc)
	for id, want := range map[string][]teams.Quota{
		"defaults": {{Unit: teams.UnitImages, Period: teams.PeriodMonth, Limit: 90}, {Unit: teams.UnitSpend, Period: teams.PeriodDay, Limit: 5 * teams.Nano}},
		"own":      {{Unit: teams.UnitRequests, Period: teams.PeriodDay}, {Unit: teams.UnitImages, Period: teams.PeriodMonth, Limit: 90}, {Unit: teams.UnitSpend, Period: teams.PeriodMonth, Limit: 60_500_000_000}},
		"none":     nil,
	} {
		team := file.Team(id)
		if diff := cmp.Diff(want, team.TagQuotas); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
		if team.Spends() != (want != nil) || team.Quotas != nil {
			t.Errorf("%s spends: %v; its own quotas: %v", id, team.Spends(), team.Quotas)
		}
	}
}

// TestDefaultsDoNotBreakADirectory: a team of the directory without a tag was right when it was written, whatever quotas of a tag's
// values the file's defaults get. As the whole document would be refused, no later change of any team would come into force.
func TestDefaultsDoNotBreakADirectory(t *testing.T) {
	file := mustParse(t, tagQuotasDoc)
	const document = `{"teams":[{"id":"untagged","tag_key":"none"},{"id":"less","tag_key":"none","tag_quotas":{"images":{"month":"none"}}},{"id":"tagged"}]}`
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
		`{"teams":[{"id":"own","tag_key":"none","tag_quotas":{"requests":{"day":1}}}]}`, `{"teams":[{"id":"own","tag_key":"none","tag_quotas":{"images":{"month":91}}}]}`,
	} {
		if _, _, err := file.Join([]byte(own), none); err == nil {
			t.Errorf("%s is read", own)
		}
	}
}

func TestMembersOfATeam(t *testing.T) {
	file := mustParse(t, "teams:\n  - {id: maps, members: [search-developers, alice@example.com, Karten 地图], self_service: true}\n  - {id: mail}\n")
	maps, mail := file.Team("maps"), file.Team("mail")
	if want := []string{"search-developers", "alice@example.com", "Karten 地图"}; !slices.Equal(maps.Members, want) || !maps.SelfService {
		t.Errorf("maps has members %q, self-service %v", maps.Members, maps.SelfService)
	}
	if mail.Members != nil || mail.SelfService {
		t.Errorf("mail has members %q, self-service %v", mail.Members, mail.SelfService)
	}
}
