package teams_test

import (
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

// TestWholeFile reads the whole of it.
func TestWholeFile(t *testing.T) {
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

