package admin

import (
	"bytes"
	"errors"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"sluice/policy"
	"sluice/policy/invoice"
	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/policy/unit"
)

// ownRows are rows of the ledger: with kinds, with use of unknown kind, and corrections of any units.
func ownRows(t *rapid.T) (rows []limit.Row) {
	for day := 20261121; day <= 20261122; day++ {
		for _, model := range []string{"=llm", "p", limit.AdjustedModel} {
			for _, account := range []string{"", "eu"} {
				if rapid.Bool().Draw(t, "absent") {
					continue
				}
				row := limit.Row{Team: "ads", Day: day, Model: model, Endpoint: policy.EndpointText, Account: account}
				least := int64(0)
				if model == limit.AdjustedModel {
					row.Endpoint, least = policy.EndpointOther, -50
				} else {
					row.Used[limit.Requests] = rapid.Int64Range(1, 9).Draw(t, "requests")
				}
				for _, u := range []int{limit.Tokens, limit.Images, limit.Spend} {
					row.Used[u] = rapid.Int64Range(least, 50).Draw(t, "of unknown kind") * rapid.Int64Range(0, 1).Draw(t, "any")
				}
				if model != limit.AdjustedModel && rapid.Bool().Draw(t, "kinds") {
					input := price.Line{Kind: price.Input, Quantity: rapid.Int64Range(1, 99).Draw(t, "input"), Rate: 2_500_000}
					input.Amount = (input.Quantity*input.Rate + 999_999) / 1_000_000
					image := price.Line{Kind: price.Image, Size: "1K", Quantity: 2, Rate: 10, Amount: 20}
					row.Kinds = kindsOf(input, image)
					row.Used = row.Used.Plus(limit.Amounts{limit.Tokens: input.Quantity, limit.Images: 2, limit.Spend: input.Amount + 20})
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// Sluice's own bill differs from the ledger in nothing, whatever kinds, corrections and accounts it has, and proposes nothing.
func TestOwnBillsAreTheLedgers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := ownRows(t)
		if len(rows) == 0 {
			return
		}
		report := NewUsageReport(unit.Currency{Word: "CNY"}, "2026-11-21", "2026-11-22", rows, true)
		if len(report.Rows) == 0 {
			return
		}
		var text bytes.Buffer
		f, err := NewFocus(&text, report.Currency, "acme")
		if err != nil {
			t.Fatal(err)
		}
		f.Add(report.Rows)
		err = f.Flush()
		sums, unread := invoice.Read(&text, &invoice.Focus, invoice.Span{})
		uses, unused := report.Uses()
		if err := errors.Join(err, unread, unused); err != nil {
			t.Fatal(err)
		}
		for i := range uses {
			uses[i].Model = Cell(uses[i].Model)
		}
		r := invoice.Compare(sums, uses, new(big.Rat))
		r.Ledger[limit.Requests] = 0 // bills have none
		if !r.Within || len(r.Differences)+len(r.Corrections)+len(r.BillOnly)+len(r.LedgerOnly) > 0 || r.Bill != r.Ledger {
			t.Fatalf("%+v", r)
		}
	})
}

// What requests were rounded up by is exact where one price held; else each request has less than the last digit.
func TestRoundingOfRequests(t *testing.T) {
	// Ten requests of 3 tokens at 0.8 a million, in 10⁻⁶: each costs 3 for 2.4.
	var small, other price.Sum
	for range 10 {
		bill := price.Bill{}
		bill[price.Input] = price.Line{Kind: price.Input, Quantity: 3, Rate: 800_000, Amount: 3}
		small.AddBill(&bill)
		other.AddBill(&bill)
	}
	dear := price.Bill{}
	dear[price.Input] = price.Line{Kind: price.Input, Quantity: 3, Rate: 900_000, Amount: 3}
	other.AddBill(&dear)
	rows := []limit.Row{
		{Team: "ads", Day: 20261121, Model: "m", Endpoint: "text", Used: limit.Amounts{10, 30, 0, 30}, Kinds: small.ByKind()},
		{Team: "ads", Day: 20261122, Model: "m", Endpoint: "text", Used: limit.Amounts{11, 33, 0, 33}, Kinds: other.ByKind()},
		{Team: "ads", Day: 20261123, Model: "m", Endpoint: "text", Used: limit.Amounts{11, 33, 0, 33}},
	}
	report := NewUsageReport(unit.Currency{Money: unit.Micros}, "2026-11-21", "2026-11-23", rows, true)
	uses, err := report.Uses()
	if err != nil {
		t.Fatal(err)
	}
	rounded := map[int]int64{}
	for _, u := range uses {
		rounded[u.Day] += u.Rounded
	}
	if rounded[20261121] != 6 || rounded[20261122] != 11 || rounded[20261123] != 0 {
		t.Errorf("%v", rounded)
	}
	bill := &invoice.Sums{Of: map[invoice.Item]invoice.Sum{{Day: 20261121, Model: "m", Kind: "input"}: {Quantity: 30, Amount: 24}}}
	r := Reconciliation{Report: invoice.Compare(bill, uses[:2], big.NewRat(5, 1000)), Currency: report.Currency}
	var text, doc bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteJSON(&doc)); err != nil || !r.Within {
		t.Errorf("%v %+v", err, r)
	}
	for _, want := range []string{"rounding of requests added at most 0.000006 to the ledger: up to that much less on the bill is not a " +
		"difference\n", `"rounded":0.000006`} {
		if !bytes.Contains(append(text.Bytes(), doc.Bytes()...), []byte(want)) {
			t.Errorf("no %s in\n%s%s", want, text.String(), doc.String())
		}
	}
}
