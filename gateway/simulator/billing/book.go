package billing

import (
	"cmp"
	"encoding/csv"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Book adds up work for a bill. The zero Book charges nothing: give it a List. It is not safe for concurrent use.
type Book struct {
	List   List
	lines  map[line]int
	models map[string]bool
}

// line names a line of the bill.
type line struct {
	hour    time.Time
	account string
	model   string
	item    Item
	unit    string
	each    int64
}

// mostModels bounds the memory of a book: clients can invent names.
const mostModels = 1000

// Add adds a piece of work.
func (b *Book) Add(w Work) {
	if b.lines == nil {
		b.Reset()
	}
	tariff, model := b.List.find(w.Model, w.At), w.Model
	if !b.models[model] && len(b.models) >= mostModels {
		model = "other models"
	}
	b.models[model] = true
	for _, c := range tariff.charges(&w) {
		b.lines[line{w.At.UTC().Truncate(time.Hour), cmp.Or(w.Account, Account), model, c.item, c.unit, c.each}] += c.quantity
	}
}

// Reset begins a new bill.
func (b *Book) Reset() { b.lines, b.models = map[line]int{}, map[string]bool{} }

// zone is the time zone of the bill.
var zone = time.FixedZone("UTC+8", 8*60*60)

// Account is the account on the bill if the service has only one.
const Account = "simulated-account"

// Write writes the bill of the accounts, or of all if none is named, as CSV, by hours in UTC+8. testdata of cmd/sluice and docs/demo have
// maps of its columns.
func (b *Book) Write(w io.Writer, accounts ...string) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"Hour", "Account", "Model", "Item", "Usage", "Unit", "UnitPrice", "Cost"}) // Error has it
	lines := slices.SortedFunc(maps.Keys(b.lines), func(x, y line) int {
		return cmp.Or(
			x.hour.Compare(y.hour), strings.Compare(x.account, y.account), strings.Compare(x.model, y.model),
			strings.Compare(string(x.item), string(y.item)), cmp.Compare(x.each, y.each),
		)
	})
	for _, l := range lines {
		if len(accounts) > 0 && !slices.Contains(accounts, l.account) {
			continue
		}
		n := int64(b.lines[l])
		usage, of := strconv.FormatInt(n, 10), int64(1)
		if l.unit == "1k tokens" {
			of = 1000
			usage = decimal(n, of, 3)
		}
		_ = out.Write([]string{
			l.hour.In(zone).Format("2006-01-02 15:04"), l.account, l.model, string(l.item), usage, l.unit, nano(l.each * of),
			nano(n * l.each),
		})
	}
	out.Flush()
	return out.Error()
}

// nano formats an amount of 10⁻⁹ of the currency in the currency.
func nano(n int64) string { return decimal(n, 1_000_000_000, 9) }

// decimal formats a fraction without trailing zeros.
func decimal(n, of int64, digits int) string {
	text := big.NewRat(n, of).FloatString(digits)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
