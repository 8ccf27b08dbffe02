package admin

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"text/tabwriter"

	"sluice/policy/invoice"
	"sluice/policy/limit"
	"sluice/policy/unit"
)

// Reconciliation is the service's bill beside the ledger, as sluice reconcile writes it.
type Reconciliation struct {
	invoice.Report
	unit.Currency          // of the teams file
	From, To      string   // the days that are compared, such as 2026-11-21
	Account       string   // the account at the service whose part of the ledger is compared; empty: all
	Accounts      []string // that the bill names
}

// Ratio is the difference of the sums of money, as a part of the bill's sum; 1 if only the ledger has money.
func (r *Reconciliation) Ratio() float64 {
	bill, more := float64(r.Bill[limit.Spend]), math.Abs(float64(r.Bill[limit.Spend]-r.Ledger[limit.Spend]))
	switch {
	case more == 0:
		return 0
	case bill == 0:
		return 1
	}
	return more / math.Abs(bill)
}

// Form returns the method that writes it: as JSON, as CSV, or as a text for people.
func (r *Reconciliation) Form(asJSON, asCSV bool) func(io.Writer) error {
	switch {
	case asJSON:
		return r.WriteJSON
	case asCSV:
		return r.WriteCSV
	}
	return r.WriteText
}

// WriteJSON writes all of it.
func (r *Reconciliation) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r.document()) }

// reconciled is a reconciliation as programs read it.
type reconciled struct {
	unit.Currency
	From        string                `json:"from"`
	To          string                `json:"to"`
	Account     string                `json:"account,omitempty"`  // whose part of the ledger is compared
	Accounts    []string              `json:"accounts,omitempty"` // that the bill names
	Within      bool                  `json:"within"`             // the tolerance
	Sums        map[unit.Name]sideSum `json:"sums"`               // spend, and tokens and images if the bill has quantities
	Differences []difference          `json:"differences"`        // the largest amount first
	BillOnly    []string              `json:"bill_only"`          // models that the ledger does not have
	LedgerOnly  []string              `json:"ledger_only"`        // models that the bill does not have
	Corrections []correction          `json:"corrections"`        // what sluice adjust would have to add
	LeftOut     []string              `json:"left_out,omitempty"` // days that are not compared, because the bill has only a part of them
	Partial     []cell                `json:"partial,omitempty"`  // compared nevertheless: nothing is proposed for these
	Unbilled    []cell                `json:"unbilled,omitempty"` // nor for these, without a line on the bill
	Nameless    []cell                `json:"nameless,omitempty"` // nor for these, whose account has no valid id
	Unused      []cell                `json:"unused,omitempty"`   // nor, for some unit, for these: no team used anything on those days
	// corrected only in part, in some unit: the bill is below 0, and use cannot fall so far
	Credits []cell `json:"credits,omitempty"`
}

// cell is a day, and an account at the service if the bill has a column for it.
type cell struct {
	Day     string `json:"day"`
	Account string `json:"account,omitempty"`
}

// sideSum has numbers in whole units, money in the currency.
type sideSum struct {
	Bill      json.Number `json:"bill"`
	Ledger    json.Number `json:"ledger"`
	Estimated json.Number `json:"estimated"` // the ledger's estimated part
	// for money, by how much the ledger rounded requests up, which is no difference; absent: 0
	Rounded json.Number `json:"rounded,omitempty"`
}

// difference is one item. The estimated part is that of its model and day, whatever the kind.
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
	Team    string      `json:"team"`
	Day     string      `json:"day"`
	Account string      `json:"account,omitempty"` // at the service; absent: main
	Unit    unit.Name   `json:"unit"`
	Delta   json.Number `json:"delta"`
}

func (r *Reconciliation) document() *reconciled {
	d := &reconciled{
		Currency: r.Currency, From: r.From, To: r.To, Account: r.Account, Accounts: r.Accounts, Within: r.Within, Sums: map[unit.Name]sideSum{},
		Differences: []difference{}, BillOnly: append([]string{}, r.BillOnly...), LedgerOnly: append([]string{}, r.LedgerOnly...),
		Corrections: []correction{},
	}
	for _, u := range r.units() {
		name, number := unit.Names[u], func(a limit.Amounts) json.Number { return json.Number(r.Money.Written(unit.Names[u], a[u])) }
		sum := sideSum{Bill: number(r.Bill), Ledger: number(r.Ledger), Estimated: number(r.Estimated)}
		if u == limit.Spend && r.Rounded > 0 {
			sum.Rounded = json.Number(r.money(r.Rounded))
		}
		d.Sums[name] = sum
	}
	sum := func(s invoice.Sum) quantityOf { return quantityOf{s.Quantity, json.Number(r.money(s.Amount))} }
	for i := range r.Differences {
		of := &r.Differences[i]
		d.Differences = append(d.Differences, difference{
			limit.DayText(of.Day), of.Model, of.Kind, of.Unit, sum(of.Bill), sum(of.Ledger), estimatedPart{sum(of.Estimated), of.Requests},
		})
	}
	for _, c := range r.Corrections {
		d.Corrections = append(d.Corrections, correction{
			c.Team, limit.DayText(c.Day), c.Account, c.Unit,
			json.Number(r.Money.Written(c.Unit, c.Delta)),
		})
	}
	for _, day := range r.LeftOut {
		d.LeftOut = append(d.LeftOut, limit.DayText(day))
	}
	d.Partial, d.Unbilled, d.Nameless, d.Unused, d.Credits = cellsOf(r.Partial), cellsOf(r.Unbilled), cellsOf(r.Nameless), cellsOf(r.Unused),
		cellsOf(r.Credits)
	return d
}

func cellsOf(list []invoice.Cell) (cells []cell) {
	for _, of := range list {
		cells = append(cells, cell{limit.DayText(of.Day), of.Account})
	}
	return cells
}

// units returns the units that both sides have, as indices of amounts.
func (r *Reconciliation) units() []int { return append([]int{limit.Spend}, r.Quantities()...) }

func (r *Reconciliation) money(n int64) string { return r.Money.Written(unit.Names[limit.Spend], n) }

// WriteCSV writes a line for each difference.
func (r *Reconciliation) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	heads := "day,model,kind,unit,bill_quantity,ledger_quantity,bill_amount,ledger_amount," +
		"estimated_quantity,estimated_amount,estimated_requests"
	_ = out.Write(strings.Split(heads, ",")) // Error has it
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for i := range r.Differences {
		d := &r.Differences[i]
		_ = out.Write([]string{
			limit.DayText(d.Day), Cell(d.Model), d.Kind, string(d.Unit), number(d.Bill.Quantity), number(d.Ledger.Quantity),
			r.money(d.Bill.Amount), r.money(d.Ledger.Amount), number(d.Estimated.Quantity), r.money(d.Estimated.Amount), number(d.Requests),
		})
	}
	out.Flush()
	return out.Error()
}

// shownDifferences is how many differences the text has; JSON and CSV have all.
const shownDifferences = 20

// WriteText writes both sums, the largest differences as sentences, and the lines of sluice adjust that would make the sums equal.
func (r *Reconciliation) WriteText(w io.Writer) error {
	var text strings.Builder
	r.writeSums(&text)
	for i := range r.Differences[:min(len(r.Differences), shownDifferences)] {
		text.WriteString(r.sentence(&r.Differences[i]) + "\n")
	}
	if more := len(r.Differences) - shownDifferences; more > 0 {
		fmt.Fprintf(&text, "%d smaller differences: --csv has them\n", more)
	}
	if len(r.Differences) == 0 {
		text.WriteString("no difference\n")
	}
	for _, side := range []struct {
		where  string
		models []string
	}{{"on the bill", r.BillOnly}, {"in the ledger", r.LedgerOnly}} {
		if len(side.models) > 0 {
			fmt.Fprintf(&text, "\nmodels only %s: %s\n", side.where, Printable(strings.Join(side.models, ", ")))
		}
	}
	r.writeCorrections(&text)
	_, err := io.WriteString(w, text.String())
	return err
}

// writeCorrections writes the lines of sluice adjust, and the cells that they do not make equal.
func (r *Reconciliation) writeCorrections(text io.Writer) {
	writeCells(text, "Nothing is proposed for these, because the bill has only a part of them", r.Partial)
	writeCells(text, "Nothing is proposed for these, which are not on the bill", r.Unbilled)
	writeCells(text, "Nothing is proposed for these, whose account has no valid id: name it in the map", r.Nameless)
	writeCells(text, "Nothing is proposed for these, because the ledger has no use by which to divide the surplus of the bill among teams",
		r.Unused)
	writeCells(text, "These cannot become equal, because the bill is a credit, and use cannot fall below 0", r.Credits)
	equal := "These would make the sums of each day equal"
	if len(r.Partial)+len(r.Unbilled)+len(r.Nameless)+len(r.Unused)+len(r.Credits) > 0 {
		equal += ", but for those above"
	}
	for i, c := range r.Corrections {
		if i == 0 {
			_, _ = fmt.Fprintf(text, "\n%s:\n", equal)
		}
		account := ""
		if c.Account != "" {
			account = " --account " + Printable(c.Account)
		}
		_, _ = fmt.Fprintf(text, "sluice adjust --team %s --day %s%s --unit %s --delta=%s --reason 'bill of %s to %s'\n",
			Printable(c.Team), limit.DayText(c.Day), account, c.Unit, r.Money.Written(c.Unit, c.Delta), r.From, r.To)
	}
}

// writeCells writes the cells that stay different, and why.
func writeCells(text io.Writer, why string, list []invoice.Cell) {
	for i, of := range list {
		if i == 0 {
			_, _ = fmt.Fprintf(text, "\n%s:\n", why)
		}
		_, _ = fmt.Fprintln(text, strings.TrimSpace(limit.DayText(of.Day)+" "+Printable(of.Account)))
	}
}

// writeSums writes a table with a row for each unit of both sides, and an empty line.
func (r *Reconciliation) writeSums(w io.Writer) {
	if len(r.Accounts) > 0 {
		_, _ = fmt.Fprintf(w, "the bill is for account %s\n", Printable(strings.Join(r.Accounts, ", ")))
	}
	if r.Account != "" {
		_, _ = fmt.Fprintf(w, "the ledger is that of account %s\n", Printable(r.Account))
	}
	if len(r.LeftOut) > 0 {
		_, _ = fmt.Fprintf(w, "the bill has only a part of these days in UTC, so they are left out: %s\n", invoice.DayTexts(r.LeftOut))
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(out, "%s to %s\tBILL\tLEDGER\tDIFFERENCE\tESTIMATED BY THE LEDGER\n", r.From, r.To)
	for _, u := range r.units() {
		name, written := string(unit.Names[u]), func(n int64) string { return r.Money.Written(unit.Names[u], n) }
		if u == limit.Spend {
			name = strings.TrimSpace(name + " " + r.Word)
		}
		_, _ = fmt.Fprintf(out, "%s\t%s\t%s\t%s (%s)\t%s\n", name, written(r.Bill[u]), written(r.Ledger[u]),
			written(r.Bill[u]-r.Ledger[u]), perCent(r.Bill[u]-r.Ledger[u], r.Bill[u]), written(r.Estimated[u]))
	}
	_ = out.Flush() // a builder never fails
	if r.Rounded > 0 {
		_, _ = fmt.Fprintf(w, "rounding of requests added at most %s to the ledger: up to that much less on the bill is not a difference\n",
			r.amount(r.Rounded))
	}
	_, _ = io.WriteString(w, "\n")
}

// perCent is a part of a whole in per cent.
func perCent(part, whole int64) string {
	switch {
	case part == 0:
		return "0%"
	case whole == 0:
		return "all"
	}
	return new(big.Rat).Mul(big.NewRat(part, whole), big.NewRat(100, 1)).FloatString(2) + "%"
}

// sentence describes a difference: "2026-11-21 llm-max input: 12,400 tokens more, 0.031 CNY more on the bill; 12,100 of ours are
// estimated: 31 requests without an answer on that day".
func (r *Reconciliation) sentence(d *invoice.Difference) string {
	what := limit.DayText(d.Day) + " " + Printable(d.Model)
	if d.Kind != invoice.Unknown {
		what += " " + d.Kind
	}
	both := func(s invoice.Sum) string {
		if !r.Counted {
			return r.amount(s.Amount)
		}
		return several(s.Quantity, d.Unit) + ", " + r.amount(s.Amount)
	}
	var text string
	switch {
	case d.Ledger == invoice.Sum{}:
		text = "only on the bill: " + both(d.Bill)
	case d.Bill == invoice.Sum{}:
		text = "only in the ledger: " + both(d.Ledger)
	default:
		text = strings.Join(r.more(d), ", ") + " on the bill"
	}
	if d.Requests > 0 || d.Estimated != (invoice.Sum{}) {
		part := unit.Grouped(d.Estimated.Quantity)
		if !r.Counted {
			part = r.amount(d.Estimated.Amount)
		}
		text += fmt.Sprintf("; %s of ours are estimated: %s without an answer on that day", part, several(d.Requests, unit.Names[limit.Requests]))
	}
	return what + ": " + text
}

// more says by how much the bill exceeds the ledger, in tokens or images and in money.
func (r *Reconciliation) more(d *invoice.Difference) (parts []string) {
	say := func(n int64, written string) {
		if n > 0 {
			parts = append(parts, written+" more")
		} else if n < 0 {
			parts = append(parts, strings.TrimPrefix(written, "-")+" less")
		}
	}
	if r.Counted {
		say(d.Quantity(), several(d.Quantity(), d.Unit))
	}
	say(d.Amount(), r.amount(d.Amount()))
	return parts
}

func (r *Reconciliation) amount(n int64) string {
	return strings.TrimSpace(r.money(n) + " " + r.Word)
}

// several is a number of a unit: 1 request, 12,400 tokens.
func several(n int64, of unit.Name) string {
	return unit.Grouped(n) + " " + unit.Noun(n, string(of))
}
