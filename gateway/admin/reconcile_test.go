package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/policy/invoice"
	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// reconciliationOf is a report of a bill that charges more than the ledger, with estimates and with models of one side.
func reconciliationOf() *Reconciliation {
	rows := []invoice.Use{
		{Team: "search", Day: 20261121, Model: "llm-plus", Used: limit.Amounts{40, 100_000, 0, 250_000_000},
			Estimated: limit.Amounts{31, 12_100, 0, 30_250_000}},
		{Team: "search", Day: 20261121, Model: "p", Used: limit.Amounts{1, 0, 3, 600_000_000}},
		{Team: "search", Day: 20261122, Model: "=ours", Used: limit.Amounts{1, 5, 0, 0}, Estimated: limit.Amounts{1, 5, 0, 0}},
	}
	sums := &invoice.Sums{Counted: true, Of: map[invoice.Item]invoice.Sum{
		{Day: 20261121, Model: "llm-plus", Kind: "input"}: {Quantity: 112_400, Amount: 281_000_000},
		{Day: 20261121, Model: "p", Kind: "image"}:        {Quantity: 2, Amount: 600_000_000},
		{Day: 20261123, Model: "theirs", Kind: "cached"}:  {Quantity: 1000, Amount: 2_000_000},
	}}
	compared := invoice.Compare(sums, rows, big.NewRat(5, 1000))
	return &Reconciliation{Report: compared, Currency: unit.Currency{Word: "CNY"}, From: "2026-11-21", To: "2026-11-23",
		Accounts: []string{"4711"}}
}

// The example of docs/money.md, whose model has no sign of a spreadsheet's formula.
func TestAReconciliationForPeople(t *testing.T) {
	page, err := os.ReadFile("../../docs/money.md")
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile("(?s)\n```\n(the bill is for account .*?)```\n").FindSubmatch(page)
	if want == nil {
		t.Fatal("docs/money.md shows no outcome")
	}
	var got bytes.Buffer
	err = reconciliationOf().WriteText(&got)
	if text := strings.ReplaceAll(got.String(), "=ours", "ours"); err != nil || columnsOf(text) != columnsOf(string(want[1])) {
		t.Errorf("%v\n%s\nwant\n%s", err, text, want[1])
	}
}

// Beside one account stands its part of the ledger, and the lines of sluice adjust name it.
func TestAReconciliationOfAnAccount(t *testing.T) {
	for account, want := range map[string]bool{"": false, teams.MainAccount: false, "eu": true} {
		r := reconciliationOf()
		r.Account = account
		for i := range r.Corrections {
			if account == "eu" {
				r.Corrections[i].Account = account
			}
		}
		var text, doc bytes.Buffer
		if err := errors.Join(r.WriteText(&text), r.WriteJSON(&doc)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(text.String(), " --day 2026-11-21 --account eu --unit "); got != want ||
			strings.Contains(doc.String(), `"day":"2026-11-21","account":"eu","unit"`) != want {
			t.Errorf("account %q: %s\n%s", account, text.String(), doc.String())
		}
		if says := strings.Contains(text.String(), "the ledger is that of account "+account+"\n"); says != (account != "") ||
			strings.Contains(doc.String(), `"account":"`+account+`"`) != (account != "") {
			t.Errorf("account %q: %s\n%s", account, text.String(), doc.String())
		}
	}
}

// A word of the bill that is not an account's id is never part of a line for a shell, or of a correction.
func TestWordsOfTheBillAreNoCommands(t *testing.T) {
	const word = "eu$(id)\x1b[2J"
	sums := &invoice.Sums{Counted: true, Named: true, Accounts: []string{word, "main"}, Of: map[invoice.Item]invoice.Sum{
		{Day: 20261121, Account: word, Model: "m", Kind: "input"}:   {Quantity: 5, Amount: 5},
		{Day: 20261121, Account: "main", Model: "m", Kind: "input"}: {Quantity: 12, Amount: 10},
	}}
	rows := []invoice.Use{{Team: "search", Day: 20261121, Model: "m", Used: limit.Amounts{1, 10, 0, 10}}}
	r := &Reconciliation{Report: invoice.Compare(sums, rows, new(big.Rat)), From: "2026-11-21", To: "2026-11-21", Accounts: sums.Accounts}
	var text, doc bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteJSON(&doc)); err != nil {
		t.Fatal(err)
	}
	const want = `
Nothing is proposed for these, whose account has no valid id: name it in the map:
2026-11-21 eu$(id)\x1b[2J

These would make the sums of each day equal, but for those above:
sluice adjust --team search --day 2026-11-21 --unit tokens --delta=2 --reason 'bill of 2026-11-21 to 2026-11-21'
`
	if !strings.HasSuffix(text.String(), want) || strings.Contains(text.String(), "\x1b") {
		t.Errorf("%q", text.String())
	}
	if !strings.Contains(doc.String(), `"nameless":[{"day":"2026-11-21","account":"eu$(id)\u001b[2J"}]`) ||
		strings.Contains(doc.String(), `"delta":5`) {
		t.Errorf("%s", doc.String())
	}
}

// Days of which the bill has only a part are named: those that are left out, and those for which only nothing is proposed.
func TestPartsOfDays(t *testing.T) {
	sums := &invoice.Sums{Counted: true, LeftOut: []int{20261031}, Partial: []int{20261130}, Of: map[invoice.Item]invoice.Sum{
		{Day: 20261130, Model: "m", Kind: "input"}: {Quantity: 5, Amount: 5},
	}}
	rows := []invoice.Use{{Team: "search", Day: 20261130, Model: "m", Used: limit.Amounts{1, 10, 0, 10}}}
	r := &Reconciliation{Report: invoice.Compare(sums, rows, new(big.Rat)), From: "2026-11-30", To: "2026-11-30"}
	var text, doc bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteJSON(&doc)); err != nil {
		t.Fatal(err)
	}
	const begins, ends = "the bill has only a part of these days in UTC, so they are left out: 2026-10-31\n",
		"\nNothing is proposed for these, because the bill has only a part of them:\n2026-11-30\n"
	if got := text.String(); !strings.HasPrefix(got, begins) || !strings.HasSuffix(got, ends) {
		t.Errorf("%s", got)
	}
	if !strings.HasSuffix(doc.String(), `"corrections":[],"left_out":["2026-10-31"],"partial":[{"day":"2026-11-30"}]}`+"\n") {
		t.Errorf("%s", doc.String())
	}
}

// Of a day whose bill is a credit all use is taken back, and what the bill has less than nothing is named.
func TestACredit(t *testing.T) {
	sums := &invoice.Sums{Of: map[invoice.Item]invoice.Sum{{Day: 20261121, Model: "m", Kind: "input"}: {Amount: -5_000_000_000}}}
	rows := []invoice.Use{{Team: "search", Day: 20261121, Model: "m", Used: limit.Amounts{1, 10, 0, 3_000_000_000}}}
	r := &Reconciliation{Report: invoice.Compare(sums, rows, new(big.Rat)), From: "2026-11-21", To: "2026-11-21"}
	var text, doc bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteJSON(&doc)); err != nil {
		t.Fatal(err)
	}
	const want = `
These cannot become equal, because the bill is a credit, and use cannot fall below 0:
2026-11-21

These would make the sums of each day equal, but for those above:
sluice adjust --team search --day 2026-11-21 --unit spend --delta=-3 --reason 'bill of 2026-11-21 to 2026-11-21'
`
	if !strings.HasSuffix(text.String(), want) || !strings.HasSuffix(doc.String(), `"credits":[{"day":"2026-11-21"}]}`+"\n") {
		t.Errorf("%s\n%s", text.String(), doc.String())
	}
}

// columnsOf is a text whose columns may have another width.
func columnsOf(text string) string {
	for strings.Contains(text, "   ") {
		text = strings.ReplaceAll(text, "   ", "  ")
	}
	return text
}

func TestAReconciliationForPrograms(t *testing.T) {
	const wantCSV = `day,model,kind,unit,bill_quantity,ledger_quantity,bill_amount,ledger_amount,estimated_quantity,estimated_amount,estimated_requests
2026-11-21,llm-plus,unknown,tokens,112400,100000,0.281,0.25,12100,0.03025,31
2026-11-23,theirs,cached,tokens,1000,0,0.002,0,0,0,0
2026-11-22,'=ours,unknown,tokens,0,5,0,0,5,0,1
2026-11-21,p,image,images,2,3,0.6,0.6,0,0,0
`
	const wantJSON = `{"currency":"CNY","from":"2026-11-21","to":"2026-11-23","accounts":["4711"],"within":false,"sums":{` +
		`"images":{"bill":2,"ledger":3,"estimated":0},"spend":{"bill":0.883,"ledger":0.85,"estimated":0.03025},"tokens":{"bill":113400,` +
		`"ledger":100005,"estimated":12105}},` +
		`"differences":[{"day":"2026-11-21","model":"llm-plus","kind":"unknown","unit":"tokens","bill":{"quantity":112400,"amount":0.281},` +
		`"ledger":{"quantity":100000,"amount":0.25},"estimated":{"quantity":12100,"amount":0.03025,"requests":31}},`
	var csv, doc bytes.Buffer
	if err := reconciliationOf().WriteCSV(&csv); err != nil || csv.String() != wantCSV {
		t.Errorf("%v\n%s", err, csv.String())
	}
	if err := reconciliationOf().WriteJSON(&doc); err != nil || !strings.HasPrefix(doc.String(), wantJSON) ||
		!strings.HasSuffix(doc.String(), `"bill_only":["theirs"],"ledger_only":["=ours"],"corrections":[`+
			`{"team":"search","day":"2026-11-21","unit":"tokens","delta":12400},{"team":"search","day":"2026-11-21","unit":"images","delta":-1},`+
			`{"team":"search","day":"2026-11-21","unit":"spend","delta":0.031},{"team":"search","day":"2026-11-23","unit":"tokens","delta":1000},`+
			`{"team":"search","day":"2026-11-23","unit":"spend","delta":0.002}],"unbilled":[{"day":"2026-11-22"}]}`+"\n") {
		t.Errorf("%v\n%s", err, doc.String())
	}
}

// rowOfKinds is a row with input, pictures of two sizes, and use of unknown kind.
func rowOfKinds() limit.Row {
	var small, large price.Bill
	small[price.Input] = price.Line{Kind: price.Input, Quantity: 100, Rate: 2_000_000, Amount: 200}
	small[price.Image] = price.Line{Kind: price.Image, Size: "1K", Quantity: 1, Rate: 10, Amount: 10}
	large[price.Image] = price.Line{Kind: price.Image, Size: "2K", Quantity: 2, Rate: 30, Amount: 60}
	return limit.Row{
		Team: "ads", Day: 20261121, Model: "m", Endpoint: "multimodal", Kinds: small.ByKind().Plus(large.ByKind()),
		Used: limit.Amounts{3, 107, 4, 278}, Estimated: limit.Amounts{1, 7, 1, 8},
	}
}

// A report has the same use again, also after it was written as JSON.
func TestTheUseOfAReport(t *testing.T) {
	rows := []limit.Row{
		{Team: "ads", Day: 20261121, Model: "llm-max", Endpoint: "text", Used: limit.Amounts{2, 30, 0, 1}, Estimated: limit.Amounts{1, 20, 0, 1}},
		{Team: "ads", Day: 20261121, Model: "llm-max", Endpoint: "multimodal", Used: limit.Amounts{1, 5, 0, 9_007_199_254_740_991}},
		{Team: "ads", Day: 20261121, Model: "llm-max", Endpoint: "multimodal", Account: "eu", Used: limit.Amounts{1, 6, 0, 1}},
		{Team: "ads", Day: 20261122, Endpoint: "other", Used: limit.Amounts{1, 0, 0, 0}},
		{Team: "shop", Day: 20261122, Model: limit.AdjustedModel, Endpoint: "other", Used: limit.Amounts{0, -7, 0, -123}},
	}
	text, err := json.Marshal(NewUsageReport(unit.Currency{Word: "CNY"}, "2026-11-21", "2026-11-22", rows, false))
	var report UsageReport
	if err := errors.Join(err, json.Unmarshal(text, &report)); err != nil {
		t.Fatal(err)
	}
	uses, err := report.Uses()
	want := []invoice.Use{
		{Team: "ads", Day: 20261121, Model: "llm-max", Used: rows[0].Used, Estimated: rows[0].Estimated},
		{Team: "ads", Day: 20261121, Model: "llm-max", Used: rows[1].Used},
		{Team: "ads", Day: 20261121, Account: "eu", Model: "llm-max", Used: rows[2].Used},
		{Team: "ads", Day: 20261122, Model: "other", Used: rows[3].Used},
		{Team: "shop", Day: 20261122, Model: limit.AdjustedModel, Correction: true, Used: rows[4].Used},
	}
	if diff := cmp.Diff(want, uses); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	kinds := NewUsageReport(unit.Currency{Word: "CNY"}, "2026-11-21", "2026-11-22", []limit.Row{rowOfKinds()}, true)
	if uses, err = kinds.Uses(); err != nil {
		t.Fatal(err)
	}
	want = []invoice.Use{
		{Team: "ads", Day: 20261121, Model: "m", Used: limit.Amounts{3, 0, 0, 0}, Estimated: limit.Amounts{1, 0, 0, 0}},
		{Team: "ads", Day: 20261121, Model: "m", Kind: "input", Used: limit.Amounts{0, 100, 0, 200}},
		{Team: "ads", Day: 20261121, Model: "m", Kind: "image", Used: limit.Amounts{0, 0, 3, 70}},
		{Team: "ads", Day: 20261121, Model: "m", Kind: "unknown", Used: limit.Amounts{0, 7, 1, 8}, Estimated: limit.Amounts{0, 7, 1, 8}},
	}
	if diff := cmp.Diff(want, uses); diff != "" {
		t.Errorf("by kind (-want +got):\n%s", diff)
	}
	report.Rows[0].Unit = "furlongs"
	if _, err := report.Uses(); err == nil {
		t.Error("an unknown unit is read")
	}
}

func TestPeopleSeeTheLargestDifferences(t *testing.T) {
	sums := &invoice.Sums{Of: map[invoice.Item]invoice.Sum{}}
	for n := range shownDifferences + 3 {
		sums.Of[invoice.Item{Day: 20261121, Model: fmt.Sprintf("m%d", n), Kind: "input"}] = invoice.Sum{Amount: int64(n+1) * 1_000_000_000}
	}
	r := &Reconciliation{Report: invoice.Compare(sums, nil, new(big.Rat))}
	var got bytes.Buffer
	if err := r.WriteText(&got); err != nil || !strings.Contains(got.String(), "m22 input: only on the bill: 23\n") ||
		!strings.Contains(got.String(), "\n3 smaller differences: --csv has them\n") || strings.Contains(got.String(), "m2 input") {
		t.Errorf("%v\n%s", err, got.String())
	}
}
