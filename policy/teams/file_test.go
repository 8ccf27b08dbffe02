package teams_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/policy"
	"sluice/policy/teams"
)

// designFile is the teams file of the design, with whole digests and in another order, which must make no difference.
const designFile = `
prices:
  - {model: "gen2.6-image*", image: 0.20}
  - {model: "llm-*", input_per_million: 0.8, output_per_million: 2.0}
teams:
  - id: search
    disabled: false
    keys:
      - id: 7f3k9q2m4x1c
        sha256: 00000000000000000000000000000000000000000000000000000000000000fF
        expires: 2027-06-30T08:00:00+08:00
    models: ["llm-*", "gen2.6-*"]
    endpoints: [text, multimodal, image, tasks, other]
    rates:
      images:   {per: 1m, limit: 60, burst: 20}
      requests: {per: 60s, limit: 600, burst: 60}
      tokens:   {per: 1m, limit: 200000}
    quotas:
      spend:  {month: 800.00}
      images: {month: 10000, day: 500}
      tokens: {day: 5000000, month: 100000000}
    concurrent: 32
    open_tasks: 20
    shadow: true
    rules: {image.prompt.length: refuse}
account:
  - {models: ["gen2.6-*"], requests: {per: 1s, limit: 5}}
defaults:
  rates: {requests: {per: 1m, limit: 600}}
currency: CNY
`

// TestTeamsFile reads the whole of it.
func TestTeamsFile(t *testing.T) {
	want := teams.File{
		Currency: "CNY",
		List: []*teams.Team{{
			ID: "search", Owner: teams.OwnerFile,
			Keys: []teams.Key{{
				ID: "7f3k9q2m4x1c", SHA256: [32]byte{31: 255}, Expires: time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC),
			}},
			Models:    []policy.Pattern{"llm-*", "gen2.6-*"},
			Endpoints: policy.Endpoints,
			Rates: []teams.Rate{
				{Unit: teams.UnitRequests, Per: time.Minute, PerText: "60s", Limit: 600, Burst: 60},
				{Unit: teams.UnitTokens, Per: time.Minute, PerText: "1m", Limit: 200_000, Burst: 200_000},
				{Unit: teams.UnitImages, Per: time.Minute, PerText: "1m", Limit: 60, Burst: 20},
			},
			Quotas: []teams.Quota{
				{Unit: teams.UnitTokens, Period: teams.PeriodDay, Limit: 5_000_000},
				{Unit: teams.UnitTokens, Period: teams.PeriodMonth, Limit: 100_000_000},
				{Unit: teams.UnitImages, Period: teams.PeriodDay, Limit: 500},
				{Unit: teams.UnitImages, Period: teams.PeriodMonth, Limit: 10_000},
				{Unit: teams.UnitSpend, Period: teams.PeriodMonth, Limit: 800 * teams.Nano},
			},
			Concurrent: 32,
			OpenTasks:  20,
			Shadow:     true,
			Modes:      policy.Modes{"image.prompt.length": policy.ModeRefuse},
		}},
		Account: []teams.AccountLimit{{
			Models: []policy.Pattern{"gen2.6-*"},
			Rates:  []teams.Rate{{Unit: teams.UnitRequests, Per: time.Second, PerText: "1s", Limit: 5, Burst: 5}},
		}},
		Prices: []teams.Price{
			{Pattern: "gen2.6-image*", Image: 200_000_000},
			{Pattern: "llm-*", InputPerMillion: 800_000_000, OutputPerMillion: 2_000_000_000},
		},
	}
	got := mustParse(t, designFile)
	if diff := cmp.Diff(want, *got, cmpopts.IgnoreUnexported(teams.File{})); diff != "" {
		t.Errorf("the file differs (-want +got):\n%s", diff)
	}
	if zone := got.List[0].Keys[0].Expires.Location(); zone != time.UTC {
		t.Errorf("times are in %v, want UTC as in every report", zone)
	}
	if got.Team("search") != got.List[0] || got.Team("Search") != nil {
		t.Error("Team finds another")
	}
}

// TestTeamsDefaults: a team has its own limits, and the defaults for the rest.
func TestTeamsDefaults(t *testing.T) {
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

// TestPriceFirstMatch: the first price that matches counts, not the closest.
func TestPriceFirstMatch(t *testing.T) {
	list := mustParse(t, `
teams: []
prices:
  - {model: "llm-*", input_per_million: 1}
  - {model: "llm-max", input_per_million: 2}
  - {model: "gen*", image: 0.000000001}
`)
	for model, want := range map[string]teams.Price{
		"llm-max": {Pattern: "llm-*", InputPerMillion: teams.Nano},
		"gen2.6":  {Pattern: "gen*", Image: 1},
	} {
		if got, ok := list.Price(model); !ok || got != want {
			t.Errorf("the price of %s is %+v, %v, want %+v", model, got, ok, want)
		}
	}
	if got, ok := list.Price("other"); ok {
		t.Errorf("other costs %+v", got)
	}
}

// TestWarningsAreACopy: a reader that changes the warnings does not change another's.
func TestWarningsAreACopy(t *testing.T) {
	teams := mustParse(t, "teams: []")
	teams.Warnings()[0] = "changed"
	if got := teams.Warnings(); len(got) != 1 || !strings.HasSuffix(got[0], "no teams: every request will be refused") {
		t.Errorf("the warnings are %q", got)
	}
}
