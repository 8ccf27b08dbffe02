package admin_test

import (
	"context"
	"fmt"
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

// Clients name models as they like: only the first are listed.
func TestUnpricedModelsAreListedInPart(t *testing.T) {
	file, err := teams.Parse([]byte("currency: CNY\nteams: [{id: search}]"))
	if err != nil {
		t.Fatal(err)
	}
	var used usedModels
	for i := range 23 {
		used = append(used, fmt.Sprintf("m-%02d", i))
	}
	for n, want := range map[int]string{20: "m-18, m-19", 21: "m-19 and 1 more", 23: "m-19 and 3 more"} {
		got := admin.Unpriced(t.Context(), used[:n], file, time.Now())
		if len(got) != 1 || !strings.HasSuffix(got[0], want) {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
