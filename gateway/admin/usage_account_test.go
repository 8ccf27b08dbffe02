package admin

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/policy/unit"
)

// usageOn is the use of a model on some accounts.
func usageOn(kinds bool, accounts ...string) UsageReport {
	var rows []limit.Row
	for i, account := range accounts {
		used := price.Line{Kind: price.Input, Quantity: int64(i) + 1, Rate: 1_000_000_000, Amount: 1000}
		rows = append(rows, limit.Row{
			Team: "ads", Day: 20261121, Model: "m", Endpoint: "text", Account: account, Used: limit.Amounts{1, int64(i) + 1, 0, 1000},
			Kinds: kindsOf(used),
		})
	}
	return NewUsageReport(unit.Currency{Word: "CNY"}, "2026-11-21", "2026-11-21", rows, kinds)
}

// The columns have the account where there is more than main, and then name main, too.
func TestAReportNamesAccountsWhereThereAreSome(t *testing.T) {
	for _, tt := range []struct {
		by       Division
		accounts []string
		head     string
		cells    string // of the account
	}{
		{ByModel, []string{""}, "team,day,model,endpoint,unit,used,estimated", ""},
		{ByModel, []string{"main"}, "team,day,model,endpoint,unit,used,estimated", ""},
		{ByModel, []string{"", "eu"}, "team,day,model,endpoint,account,unit,used,estimated", "main main main eu eu eu"},
		{ByModel, []string{"eu"}, "team,day,model,endpoint,account,unit,used,estimated", "eu eu eu"},
		{ByKind, []string{""}, "team,day,model,endpoint,kind,size,unit,used,estimated,price,spend,estimated_spend", ""},
		{ByKind, []string{"", "eu"}, "team,day,model,endpoint,account,kind,size,unit,used,estimated,price,spend,estimated_spend",
			"main main eu eu"},
		{ByAccountKind, []string{""}, "team,day,account,kind,size,unit,used,estimated,price,spend,estimated_spend", "main main"},
		{ByAccount, []string{"main"}, "team,day,account,unit,used,estimated", "main main main"},
	} {
		report := usageOn(tt.by.kinds(), tt.accounts...)
		var text, table bytes.Buffer
		if err := report.WriteCSV(&text, tt.by); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&text).ReadAll()
		if err != nil || strings.Join(lines[0], ",") != tt.head {
			t.Errorf("%v of %v: %v, %v", tt.by, tt.accounts, lines, err)
		}
		var cells []string
		for _, line := range lines[1:] {
			if at := slices.Index(lines[0], "account"); at >= 0 {
				cells = append(cells, line[at])
			}
		}
		if got := strings.Join(cells, " "); got != tt.cells {
			t.Errorf("%v of %v: the accounts are %s", tt.by, tt.accounts, got)
		}
		if err := report.WriteTable(&table, tt.by); err != nil || strings.Contains(table.String(), "ACCOUNT") != (tt.cells != "") {
			t.Errorf("%v of %v: %v\n%s", tt.by, tt.accounts, err, table.String())
		}
	}
}

// In JSON a row without an account is main's, so that nothing changes where there is one.
func TestRowsOfMainNameNoAccount(t *testing.T) {
	text, err := json.Marshal(usageOn(false, "", "eu").Rows)
	if err != nil || strings.Count(string(text), `"account":"eu"`) != 3 || strings.Count(string(text), "account") != 3 {
		t.Errorf("%s, %v", text, err)
	}
}

// A bill has a row for each account. That of main has the provider's id, as bills always had, and no name.
func TestFocusNamesAccounts(t *testing.T) {
	var out bytes.Buffer
	f, err := NewFocus(&out, unit.Currency{Word: "CNY"}, "acme")
	if err != nil {
		t.Fatal(err)
	}
	f.Add(usageOn(true, "", "eu", "us-1").Rows)
	_ = f.Flush()
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(lines) != 4 {
		t.Fatalf("%v, %v", lines, err)
	}
	for i, want := range []string{"acme  1", "eu eu 2", "us-1 us-1 3"} {
		of := func(column string) string { return lines[i+1][slices.Index(lines[0], column)] }
		if got := of("BillingAccountId") + " " + of("BillingAccountName") + " " + of("PricingQuantity"); got != want {
			t.Errorf("row %d: %s, want %s", i, got, want)
		}
	}
}

// Rows may be beyond what a limit counts: sums and comparisons have all of them.
func TestSumsHaveLargeRows(t *testing.T) {
	report := NewUsageReport(unit.Currency{Word: "IDR"}, "2026-11-21", "2026-11-22", []limit.Row{
		{Team: "ads", Day: 20261121, Model: "m", Endpoint: "text", Used: limit.Amounts{3, 3 * unit.Most, 0, 12_000_000_000_000_000}},
		{Team: "ads", Day: 20261122, Model: "m", Endpoint: "text", Used: limit.Amounts{1, 1, 0, 1_000_000_000}},
	}, false)
	var table bytes.Buffer
	if err := report.WriteTable(&table, ByModel); err != nil {
		t.Fatal(err)
	}
	words := strings.Join(strings.Fields(table.String()), " ")
	for _, want := range []string{"in all tokens 27021597764222974 0 (0.0%)", "in all spend IDR 12000001 0 (0.0%)"} {
		if !strings.Contains(words, want) {
			t.Errorf("%s\nlacks %s", table.String(), want)
		}
	}
	uses, err := report.Uses()
	if err != nil || len(uses) != 2 || uses[0].Used[limit.Spend] != 12_000_000_000_000_000 {
		t.Errorf("%+v, %v", uses, err)
	}
}
