package admin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"sluice/gateway/admin"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/teams"
)

// usedModels is a ledger of models that used a token each.
type usedModels []string

func (m usedModels) Rows(context.Context, limit.Query) (rows []limit.Row, err error) {
	for _, model := range m {
		rows = append(rows, limit.Row{Team: "search", Model: model, Endpoint: policy.EndpointText, Used: limit.Amounts{limit.Tokens: 1}})
	}
	return rows, nil
}

// Models without a price are told as soon as the file says anything of money, also if it has no price at all.
func TestUnpricedModelsAreToldWhereMoneyIsNamed(t *testing.T) {
	key := "keys: [{id: aaaaaaaaaaaa, sha256: \"" + strings.Repeat("ab", 32) + "\", quotas: {spend: {day: 1}}}]"
	for doc, want := range map[string]string{
		"teams: [{id: search}]":                                                     "",
		"teams: [{id: search, quotas: {images: {day: 5}}}]":                         "",
		"currency: CNY\nteams: [{id: search}]":                                      "llm-max, llm-plus",
		"teams: [{id: search, quotas: {spend: {day: 5}}}]":                          "llm-max, llm-plus",
		"teams: [{id: search, " + key + "}]":                                        "llm-max, llm-plus",
		"house: {quotas: {spend: {day: 5}}}\nteams: [{id: search}]":                 "llm-max, llm-plus",
		"prices: [{model: llm-max, image: 1}]\nteams: [{id: search}]":               "llm-max (no price of tokens), llm-plus",
		"prices: [{model: llm-max, output_per_million: 0}]\nteams: [{id: search}]":  "llm-plus",
		"prices: [{model: \"llm-*\", input_per_million: 1}]\nteams: [{id: search}]": "",
	} {
		file, err := teams.Parse([]byte(doc))
		if err != nil {
			t.Errorf("%s: %v", doc, err)
			continue
		}
		got := strings.Join(admin.Unpriced(t.Context(), usedModels{"llm-plus", "llm-max"}, file, time.Now()), "\n")
		if (got != "") != (want != "") || !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
}
