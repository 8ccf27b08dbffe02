package teams_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/teams"
)

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

func TestFaultsOfTagQuotas(t *testing.T) {
	for doc, want := range map[string]string{
		"teams: [{id: a, tag_quotas: {spend: {day: 5}}}]":                                        `line 1:29: teams[0].tag_quotas: got tag_quotas without a tag_key, allowed: with a tag_key, which names the tag that they count by`,
		"teams: [{id: a, tag_key: none, tag_quotas: {spend: {day: 5}}}]":                         `line 1:44: teams[0].tag_quotas: got tag_quotas without a tag_key, allowed: with a tag_key, which names the tag that they count by`,
		"defaults: {tag_quotas: {spend: {day: 5}}}\nteams: [{id: a}]":                            `line 1:24: defaults.tag_quotas: got tag_quotas without a tag_key, allowed: with a tag_key, which names the tag that they count by`,
		"defaults: {tag_key: p, tag_quotas: {spend: {day: 5}}}\nteams: [{id: a, tag_key: none}]": `line 2:9: teams[0]: got tag_quotas without a tag_key, allowed: with a tag_key, which names the tag that they count by`,
		"teams: [{id: a, tag_key: P, tag_quotas: {spend: {day: 5}}}]":                            `line 1:26: teams[0].tag_key: got "P", allowed: the name of a tag, 1 to 62 of a–z, 0–9, dot, underscore and hyphen, or none`,
		"teams: [{id: a, tag_key: p, tag_quotas: {spend: {week: 5}}}]":                           `line 1:50: teams[0].tag_quotas.spend.week: unknown field, allowed: day or month`,
		"teams: [{id: a, tag_key: p, tag_quotas: {money: {day: 5}}}]":                            `line 1:42: teams[0].tag_quotas.money: unknown field, allowed: requests, tokens, images or spend`,
		"teams: [{id: a, tag_key: p, tag_quotas: {images: {day: -1}}}]":                          `line 1:56: teams[0].tag_quotas.images.day: got "-1", allowed: a whole number from 0 to 9007199254740991`,
	} {
		if got := faultsOf(t, []byte(doc)).Error(); got != want {
			t.Errorf("%q:\n got %s\nwant %s", doc, got, want)
		}
	}
}

// TestDefaultsDoNotBreakADirectory: a team of the directory without a tag was right when it was written, whatever quotas of a tag's
// values the file's defaults get. As the whole document would be refused, no later change of any team would come into force.
func TestDefaultsDoNotBreakADirectory(t *testing.T) {
	file := mustParse(t, tagQuotasDoc)
	const document = `{"teams":[{"id":"untagged","tag_key":"none"},{"id":"less","tag_key":"none","tag_quotas":{"images":{"month":"none"}}},{"id":"tagged"}]}`
	if _, err := teams.ReadDirectory([]byte(document)); err != nil {
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
