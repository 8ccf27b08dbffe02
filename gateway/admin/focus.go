package admin

import (
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"sluice/policy/limit"
	"sluice/policy/unit"
)

// focusColumns are the mandatory columns of FOCUS 1.2, the FinOps Foundation's form of bills, those of its other columns that the ledger
// can fill, and, with x_, our own, among them one for each unit except money. docs/focus.md describes them.
var focusColumns = append([]string{
	"BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart",
	"ChargeCategory", "ChargeClass", "ChargeDescription", "ChargeFrequency", "ChargePeriodEnd", "ChargePeriodStart",
	"ConsumedQuantity", "ConsumedUnit", "ContractedCost", "EffectiveCost", "InvoiceIssuerName", "ListCost", "ListUnitPrice",
	"PricingQuantity", "PricingUnit", "ProviderName", "PublisherName", "ServiceCategory", "ServiceName", "ServiceSubcategory",
	"SubAccountId", "SubAccountName",
}, ownColumns()...)

func ownColumns() []string {
	own := []string{"x_Endpoint", "x_EstimatedCost", "x_Kind", "x_Size"}
	for _, u := range unit.Table {
		if !u.Money {
			own = append(own, "x_"+capital(u.Name))
		}
	}
	slices.Sort(own)
	return own
}

func capital(name unit.Name) string { return strings.ToUpper(string(name[:1])) + string(name[1:]) }

// currencyForm is a code of ISO 4217.
var currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)

// IsCurrency reports whether bills can be in a currency, by its code of ISO 4217.
func IsCurrency(code string) bool { return currencyForm.MatchString(code) }

// ErrCurrency is the error of a currency that bills cannot be in.
var ErrCurrency = errors.New("bills need a currency: set currency in the teams file to a code of ISO 4217, such as CNY")

// Focus writes bills in the form of FOCUS 1.2, a row for each team, day, model, endpoint, account and kind. Create it with [NewFocus].
type Focus struct {
	out      *csv.Writer
	in       unit.Currency
	provider string
}

// NewFocus begins a bill of a provider with the header row.
func NewFocus(w io.Writer, in unit.Currency, provider string) (*Focus, error) {
	if !IsCurrency(in.Word) {
		return nil, ErrCurrency
	}
	f := &Focus{csv.NewWriter(w), in, provider}
	_ = f.out.Write(focusColumns) // Flush has the error
	return f, nil
}

// Add writes rows of a report, in its order: by kind, or in a report of an earlier version by unit. The rows of one team, day, model,
// endpoint and account MUST be in one call.
func (f *Focus) Add(rows []UsageRow) {
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && sameCharge(&rows[n-1], &rows[n]) {
			n++
		}
		values := focusRow(rows[:n], f.in.Word, f.provider)
		line := make([]string, len(focusColumns))
		for i, column := range focusColumns {
			line[i] = values[column]
		}
		_ = f.out.Write(line) // Flush has the error
		rows = rows[n:]
	}
}

// AddLedger writes rows of the ledger.
func (f *Focus) AddLedger(rows []limit.Row) { f.Add(NewUsageReport(f.in, "", "", rows, true).Rows) }

// Flush writes what is in the buffer, and returns the first error of all writes.
func (f *Focus) Flush() error {
	f.out.Flush()
	return f.out.Error()
}

// sameCharge reports whether a row of a report and the next one belong to one charge. Requests have no kind: they belong to the charge of
// the first kind.
func sameCharge(a, b *UsageRow) bool {
	return a.ofRow(b) && (a.Kind == "" || a.Kind == b.Kind && a.Size == b.Size)
}

// focusRow is one charge by column. A column that is left out is null.
func focusRow(units []UsageRow, currency, provider string) map[string]string {
	row := &units[len(units)-1]
	amounts, estimated := amountsOf(units)
	day, _ := time.Parse(limit.DayForm, row.Day) // the report wrote it
	month := day.AddDate(0, 0, 1-day.Day())
	cost, service := amounts[unit.NameSpend], cmp.Or(row.Model, string(row.Endpoint)) // a forwarded request has no model
	charge := map[string]string{
		"BilledCost": cost, "ContractedCost": cost, "EffectiveCost": cost, "ListCost": cost,
		"BillingAccountId": Cell(cmp.Or(row.Account, provider)), "BillingAccountName": row.Account, "BillingCurrency": currency,
		"BillingPeriodStart": month.Format(time.RFC3339), "BillingPeriodEnd": month.AddDate(0, 1, 0).Format(time.RFC3339),
		"ChargePeriodStart": day.Format(time.RFC3339), "ChargePeriodEnd": day.AddDate(0, 0, 1).Format(time.RFC3339),
		"InvoiceIssuerName": Cell(provider), "ProviderName": Cell(provider), "PublisherName": Cell(provider),
		"ServiceCategory": "AI and Machine Learning", "ServiceName": Cell(service), "ServiceSubcategory": "Generative AI",
		"SubAccountId": Cell(row.Team), "SubAccountName": Cell(row.Team),
		"x_Endpoint": Cell(string(row.Endpoint)), "x_EstimatedCost": estimated, "x_Kind": row.Kind, "x_Size": Cell(row.Size),
	}
	for name, amount := range amounts {
		charge["x_"+capital(name)] = amount
	}
	if row.isCorrection() { // it has no quantity: the specification wants null there
		charge["ChargeCategory"], charge["ChargeFrequency"], charge["ChargeDescription"] = "Adjustment", "One-Time", "Correction of the usage"
		return charge
	}
	measure := consumed(amounts)
	word := capital(measure)
	charge["ChargeCategory"], charge["ChargeFrequency"], charge["ChargeDescription"] = "Usage", "Usage-Based",
		Cell(service+" by "+string(row.Endpoint))
	if row.Kind != "" {
		charge["ChargeDescription"] = Cell(strings.TrimSpace(service + " by " + string(row.Endpoint) + ", " + row.Kind + " " + row.Size))
	}
	charge["ListUnitPrice"] = unitPrice(row)
	charge["ConsumedQuantity"], charge["ConsumedUnit"], charge["PricingQuantity"], charge["PricingUnit"] = amounts[measure], word,
		amounts[measure], word
	return charge
}

// amountsOf returns the amounts of a charge by unit, and the estimated part of its spend.
func amountsOf(units []UsageRow) (amounts map[unit.Name]string, estimated string) {
	amounts, estimated = map[unit.Name]string{}, "0"
	for _, name := range unit.Names {
		amounts[name] = "0"
	}
	for i := range units {
		u := &units[i]
		amounts[u.Unit] = u.Used.String()
		if u.Unit == unit.NameSpend {
			estimated = u.Estimated.String()
		}
		if u.Kind != "" { // only the last one has the spend
			amounts[unit.NameSpend], estimated = u.Spend.String(), u.EstimatedSpend.String()
		}
	}
	return amounts, estimated
}

// consumed is the unit that a charge is measured in: the last one with an amount, such as pictures before tokens, else requests.
func consumed(amounts map[unit.Name]string) unit.Name {
	for _, u := range slices.Backward(unit.Table[:]) {
		if !u.Money && amounts[u.Name] != "0" {
			return u.Name
		}
	}
	return unit.Names[unit.Requests]
}
