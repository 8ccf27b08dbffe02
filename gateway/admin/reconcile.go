package admin

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"

	"sluice/policy/invoice"
	"sluice/policy/limit"
	"sluice/policy/unit"
)

// Reconciliation is the service's bill beside the ledger, as sluice reconcile writes it.
type Reconciliation struct {
	invoice.Report
	Currency    string // of the teams file; may be empty
	From, To    string // the days that are compared, such as 2026-11-21
	Accounts    []string
	Corrections []invoice.Correction
}

// WriteJSON writes all of it.
func (r *Reconciliation) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r.document()) }

// reconciled is a reconciliation as programs read it.
type reconciled struct {
	Currency    string                `json:"currency"`
	From        string                `json:"from"`
	To          string                `json:"to"`
	Accounts    []string              `json:"accounts,omitempty"` // that the bill names
	Within      bool                  `json:"within"`             // the tolerance
	Sums        map[unit.Name]sideSum `json:"sums"`               // spend, and tokens and images if the bill has quantities
	Differences []difference          `json:"differences"`        // the largest amount first
	BillOnly    []string              `json:"bill_only"`          // models that the ledger does not have
	LedgerOnly  []string              `json:"ledger_only"`        // models that the bill does not have
	Corrections []correction          `json:"corrections"`        // what sluice adjust would have to add
}

// sideSum has numbers in whole units, money in the currency.
type sideSum struct {
	Bill      json.Number `json:"bill"`
	Ledger    json.Number `json:"ledger"`
	Estimated json.Number `json:"estimated"` // the ledger's estimated part
}

// difference is an item. What is estimated is of its model and day, whatever the kind.
type difference struct {
	Day       string        `json:"day"`
	Model     string        `json:"model"`
	Kind      string        `json:"kind"`
	Unit      unit.Name     `json:"unit"` // of the quantities
	Bill      quantityOf    `json:"bill"`
	Ledger    quantityOf    `json:"ledger"`
	Estimated estimatedPart `json:"estimated"`
}

type quantityOf struct {
	Quantity int64       `json:"quantity"`
	Amount   json.Number `json:"amount"`
}

type estimatedPart struct {
	quantityOf
	Requests int64 `json:"requests"`
}

type correction struct {
	Team  string      `json:"team"`
	Unit  unit.Name   `json:"unit"`
	Delta json.Number `json:"delta"`
}

func (r *Reconciliation) document() *reconciled {
	d := &reconciled{
		Currency: r.Currency, From: r.From, To: r.To, Accounts: r.Accounts, Within: r.Within, Sums: map[unit.Name]sideSum{},
		Differences: []difference{}, BillOnly: append([]string{}, r.BillOnly...), LedgerOnly: append([]string{}, r.LedgerOnly...), Corrections: []correction{},
	}
	for _, u := range r.units() {
		name, number := unit.Names[u], func(a limit.Amounts) json.Number { return json.Number(limit.Written(unit.Names[u], a[u])) }
		d.Sums[name] = sideSum{number(r.Bill), number(r.Ledger), number(r.Estimated)}
	}
	sum := func(s invoice.Sum) quantityOf { return quantityOf{s.Quantity, json.Number(money(s.Amount))} }
	for i := range r.Differences {
		of := &r.Differences[i]
		d.Differences = append(d.Differences, difference{
			limit.DayText(of.Day), of.Model, of.Kind, of.Unit, sum(of.Bill), sum(of.Ledger), estimatedPart{sum(of.Estimated), of.Requests},
		})
	}
	for _, c := range r.Corrections {
		d.Corrections = append(d.Corrections, correction{c.Team, c.Unit, json.Number(limit.Written(c.Unit, c.Delta))})
	}
	return d
}

// units are those that both sides have, as indices of amounts.
func (r *Reconciliation) units() []int {
	if !r.Counted {
		return []int{limit.Spend}
	}
	return []int{limit.Spend, limit.Tokens, limit.Images}
}

func money(n int64) string { return limit.Written(unit.Names[limit.Spend], n) }

// WriteCSV writes a line for each difference.
func (r *Reconciliation) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"day", "model", "kind", "unit", "bill_quantity", "ledger_quantity", "bill_amount", "ledger_amount",
		"estimated_quantity", "estimated_amount", "estimated_requests"}) // Error has it
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for i := range r.Differences {
		d := &r.Differences[i]
		_ = out.Write([]string{limit.DayText(d.Day), Cell(d.Model), d.Kind, string(d.Unit), number(d.Bill.Quantity), number(d.Ledger.Quantity),
			money(d.Bill.Amount), money(d.Ledger.Amount), number(d.Estimated.Quantity), money(d.Estimated.Amount), number(d.Requests)})
	}
	out.Flush()
	return out.Error()
}
