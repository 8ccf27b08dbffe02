package admin

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math/big"
	"os"
	"strings"
	"testing"

	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/policy/unit"
)

// focusReport has a chat with an estimate, pictures, a correction, and a name that a spreadsheet would run.
func focusReport() UsageReport {
	return NewUsageReport(unit.Currency{Word: "CNY"}, "2026-11-30", "2026-12-01", []limit.Row{
		{Team: "ads", Day: 20261130, Model: "gen2.6-image", Endpoint: policy.EndpointImage, Used: limit.Amounts{3, 0, 12, 2_400_000_000}},
		{
			Team: "ads", Day: 20261130, Model: "llm", Endpoint: policy.EndpointText, Used: limit.Amounts{5, 3100, 2, 2_505_000_000},
			Estimated: limit.Amounts{1, 700, 0, 5_000_000},
			Kinds: kindsOf(price.Line{Kind: price.Input, Quantity: 1000, Rate: 2_500_000_000, Amount: 2_500_000},
				price.Line{Kind: price.Cached, Quantity: 1500, Amount: 501_250_000},
				price.Line{Kind: price.Image, Size: "1048576", Quantity: 2, Rate: 1_000_000_000, Amount: 2_000_000_000}),
		},
		{Team: "search", Day: 20261130, Model: "=llm", Endpoint: policy.EndpointText, Used: limit.Amounts{2, 900, 0, 1_800_000},
			Estimated: limit.Amounts{1, 400, 0, 800_000}},
		{Team: "search", Day: 20261201, Model: "adjustment", Endpoint: policy.EndpointOther, Used: limit.Amounts{0, 0, 0, -1_000_000_000}},
		{Team: "search", Day: 20261201, Model: "llm", Endpoint: policy.EndpointText, Used: limit.Amounts{4}},
	}, true)
}

func kindsOf(lines ...price.Line) price.ByKind {
	var b price.Bill
	for _, l := range lines {
		b[l.Kind] = l
	}
	return b.ByKind()
}

// bill writes the report.
func bill(t *testing.T, w io.Writer) {
	t.Helper()
	f, err := NewFocus(w, unit.Currency{Word: "CNY"}, "acme")
	if err != nil {
		t.Fatal(err)
	}
	f.Add(focusReport().Rows)
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
}

func TestFocus(t *testing.T) {
	var out bytes.Buffer
	bill(t, &out)
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(lines) != 9 {
		t.Fatalf("%d lines, %v; want 9", len(lines), err)
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, column := range lines[0] {
			row[column] = line[i]
		}
		rows = append(rows, row)
	}
	for i, want := range []map[string]string{
		{
			"BilledCost": "2.4", "ListCost": "2.4", "BillingCurrency": "CNY", "BillingPeriodStart": "2026-11-01T00:00:00Z",
			"BillingPeriodEnd":  "2026-12-01T00:00:00Z",
			"ChargePeriodStart": "2026-11-30T00:00:00Z", "ChargePeriodEnd": "2026-12-01T00:00:00Z", "ChargeCategory": "Usage", "ChargeClass": "",
			"PricingQuantity": "12", "PricingUnit": "Images", "ConsumedQuantity": "12", "ConsumedUnit": "Images", "ProviderName": "acme",
			"BillingAccountId": "acme",
			"ServiceName":      "gen2.6-image", "SubAccountId": "ads", "x_Endpoint": "image", "x_Requests": "3", "x_Tokens": "0",
			"x_EstimatedCost": "0", "x_Kind": "unknown", "ListUnitPrice": "",
		},
		{
			"BilledCost": "0.0025", "x_Kind": "input", "x_Requests": "5", "PricingQuantity": "1000", "PricingUnit": "Tokens",
			"ListUnitPrice": "0.0000025", "x_EstimatedCost": "0.0025", "ChargeDescription": "llm by text, input", "x_Size": "",
		},
		{"BilledCost": "0.50125", "x_Kind": "cached", "x_Requests": "0", "PricingQuantity": "1500", "ListUnitPrice": "",
			"x_EstimatedCost": "0.00125"},
		{
			"BilledCost": "2", "x_Kind": "image", "x_Size": "1048576", "PricingQuantity": "2", "PricingUnit": "Images", "ListUnitPrice": "1",
			"x_EstimatedCost": "0", "ChargeDescription": "llm by text, image 1048576",
		},
		{"BilledCost": "0.00125", "x_Kind": "unknown", "x_Tokens": "600", "x_Images": "0", "PricingQuantity": "600", "ListUnitPrice": "",
			"x_EstimatedCost": "0.00125"},
		{"BilledCost": "0.0018", "x_EstimatedCost": "0.0008", "PricingQuantity": "900", "PricingUnit": "Tokens", "ServiceName": "'=llm",
			"ChargeDescription": "'=llm by text, unknown"},
		{"BilledCost": "-1", "ChargeCategory": "Adjustment", "BillingPeriodStart": "2026-12-01T00:00:00Z",
			"BillingPeriodEnd": "2027-01-01T00:00:00Z"},
		{"BilledCost": "0", "PricingQuantity": "4", "PricingUnit": "Requests"},
	} {
		for column, value := range want {
			if rows[i][column] != value {
				t.Errorf("row %d, %s: %q, want %q", i, column, rows[i][column], value)
			}
		}
	}
}

// TestFocusCostsWhatTheReportCosts: the sum of the costs is that of sluice usage.
func TestFocusCostsWhatTheReportCosts(t *testing.T) {
	var out bytes.Buffer
	bill(t, &out)
	lines, _ := csv.NewReader(&out).ReadAll()
	sum := new(big.Rat)
	for _, line := range lines[1:] {
		cost, ok := new(big.Rat).SetString(line[0])
		if !ok {
			t.Fatalf("a cost of %q", line[0])
		}
		sum.Add(sum, cost)
	}
	if got := sum.FloatString(4); got != "3.9068" {
		t.Errorf("%s in all, want 3.9068", got)
	}
}

func TestFocusNeedsACurrency(t *testing.T) {
	for _, currency := range []string{"", "credits", "cny"} {
		if _, err := NewFocus(&bytes.Buffer{}, unit.Currency{Word: currency}, "acme"); !errors.Is(err, ErrCurrency) || IsCurrency(currency) {
			t.Errorf("currency %q: %v", currency, err)
		}
	}
}

// TestFocusColumnsAreDescribed: docs/focus.md has a row for each column.
func TestFocusColumnsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../../docs/focus.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range focusColumns {
		if !strings.Contains(string(page), "`"+column+"`") {
			t.Errorf("docs/focus.md does not describe %s", column)
		}
	}
}
