package admin

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// moneyPrices are those of the example in docs/money.md.
var moneyPrices = func() map[string]price.Price {
	rates := func(of map[price.Kind]int64) (r price.Rates) {
		for k, milli := range of {
			r.Set(k, milli*1_000_000)
		}
		return r
	}
	return map[string]price.Price{
		"llm-max": {
			Rates: rates(map[price.Kind]int64{price.Input: 2500, price.Output: 10_000, price.Cached: 500}),
			Above: []price.Border{{Input: 32_000, Rates: rates(map[price.Kind]int64{price.Input: 4000, price.Output: 16_000, price.Cached: 800})}},
		},
		"gen2.6-image": {Rates: rates(map[price.Kind]int64{price.Image: 200}), Images: []price.Size{{UpToPixels: 1_048_576, Image: 140_000_000}}},
	}
}()

// moneyRequests are its requests. One of them never ends.
var moneyRequests = []struct {
	model string
	usage price.Usage
	ends  bool
}{
	{"llm-max", price.Usage{Input: 20_000, Cached: 12_000, Output: 800, Thinking: 500}, true},
	{"llm-max", price.Usage{Input: 40_000, Cached: 30_000, Output: 100}, true},
	{"gen2.6-image", price.Usage{Images: 2, Pixels: 1024 * 1024}, true},
	{"gen2.6-image", price.Usage{Images: 1, Pixels: 2048 * 2048}, true},
	{"llm-max", price.Usage{Input: 1000, Output: 1000}, false},
}

// TestTheExampleOfKinds: docs/money.md shows what its requests make of the ledger.
func TestTheExampleOfKinds(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	accounts := limit.NewMemory(func() time.Time { return now })
	team := &teams.Team{ID: "search"}
	for _, r := range moneyRequests {
		p := moneyPrices[r.model]
		bill, _ := price.Of(&p, &r.usage)
		h := &limit.Hold{ID: r.model + now.String(), Team: team, Model: r.model, Endpoint: policy.EndpointText, Amounts: limit.AmountsOf(&bill),
			Lease: time.Minute}
		if r.usage.Images > 0 {
			h.Endpoint = policy.EndpointImage
		}
		v, err := accounts.Admit(context.Background(), h)
		if err != nil || v.Held == nil {
			t.Fatal(err)
		}
		if r.ends {
			accounts.SettleLater(&limit.Charge{Held: v.Held, Team: team, Amounts: h.Amounts, Bill: &bill})
		}
		now = now.Add(time.Second)
	}
	now = now.Add(time.Hour)
	_ = accounts.Maintain(context.Background())
	rows, _ := accounts.Rows(context.Background(), limit.Query{Days: []int{20261121}})
	var table strings.Builder
	report := NewUsageReport(unit.Currency{Word: "CNY"}, "2026-11-21", "2026-11-21", rows, true)
	if err := report.WriteTable(&table, ByKind); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/money.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for line := range strings.Lines(table.String()) {
		lines.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	if !strings.Contains(string(page), "```text\n"+lines.String()+"```") {
		t.Errorf("docs/money.md does not have\n%s", lines.String())
	}
	if text, err := json.Marshal(report.Rows[7].Entry); err != nil || !strings.Contains(string(page), "```json\n"+string(text)+"\n```") {
		t.Errorf("docs/money.md does not have\n%s", text)
	}
}
