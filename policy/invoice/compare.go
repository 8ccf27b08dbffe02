package invoice

import (
	"cmp"
	"maps"
	"math/big"
	"slices"

	"sluice/policy/limit"
	"sluice/policy/unit"
)

// Difference is an item on both sides.
type Difference struct {
	Item
	Unit      unit.Name // of the quantities: tokens or images
	Bill      Sum
	Ledger    Sum
	Estimated Sum   // what is estimated of the ledger's use of the model on that day, in the same unit, of all kinds
	Requests  int64 // estimated requests of the model on that day: their answer did not say what they used
}

// Amount is how much more the bill charges, in the smallest amount of the currency.
func (d *Difference) Amount() int64 { return d.Bill.Amount - d.Ledger.Amount }

// Quantity is how many tokens or pictures more the bill charges.
func (d *Difference) Quantity() int64 { return d.Bill.Quantity - d.Ledger.Quantity }

// Use is what a team used of a model on a day, by the ledger.
type Use struct {
	Team    string
	Account string // at the service; empty: main
	Day     int    // in UTC, as 20261121
	Model   string
	Kind    string // a name of price.Table or Unknown; "": the ledger knows no kinds of it

	Used, Estimated limit.Amounts // the estimated part is of Used
}

// OnAccount returns what was used on one account at the service; empty: on all.
func OnAccount(ledger []Use, account string) []Use {
	return slices.DeleteFunc(ledger, func(u Use) bool { return account != "" && limit.AccountName(u.Account) != account })
}

// Report is a bill beside the ledger.
type Report struct {
	Counted                 bool          // the bill has quantities: tokens and images are compared, too
	Bill, Ledger, Estimated limit.Amounts // sums; the estimated part is the ledger's
	Differences             []Difference  // items with a difference, the largest amount first
	BillOnly, LedgerOnly    []string      // models that only one side has
	Within                  bool          // the sum, and each day's sum of each model, are within the tolerance
}

// day is a model on a day.
type day struct {
	bill, ledger int64 // money
	estimated    limit.Amounts
	used         limit.Amounts
	blind        limit.Amounts // 1 for a unit whose kinds one side does not know
}

// comparison is a report in the making.
type comparison struct {
	days  map[Item]*day
	items map[Item]*Difference
	Report
}

// Compare lays a bill beside the ledger. The tolerance is a part of what the bill charges: 5/1000. Where one side does not
// know the kinds of a model's use on a day, those of the other side are added up. Corrections (sluice adjust) count in the sum alone.
func Compare(sums *Sums, ledger []Use, tolerance *big.Rat) Report {
	c := comparison{days: map[Item]*day{}, items: map[Item]*Difference{}, Report: Report{Counted: sums.Counted}}
	for i := range ledger {
		c.noteUse(&ledger[i])
	}
	for item, sum := range sums.Of {
		d := c.day(item)
		d.bill += sum.Amount
		if item.Kind == Unknown && sum != (Sum{}) {
			d.blind[limit.Tokens], d.blind[limit.Images] = 1, 1
		}
	}
	for item, sum := range sums.Of {
		d := c.difference(item)
		d.Bill = plus(d.Bill, sum)
		c.Bill[unit.Index(d.Unit)] += sum.Quantity
		c.Bill[limit.Spend] += sum.Amount
	}
	for i := range ledger {
		u := &ledger[i]
		if item, counted := u.item(); u.Used[counted] != 0 || u.Used[limit.Spend] != 0 {
			d := c.difference(item)
			d.Ledger = plus(d.Ledger, Sum{u.Used[counted], u.Used[limit.Spend]})
		}
	}
	c.end(tolerance)
	return c.Report
}

// item is what the use is of, and in which unit it is counted. Use without a kind has its money with its pictures or with its tokens.
func (u *Use) item() (item Item, counted int) {
	item = Item{u.Day, u.Model, u.Kind}
	switch {
	case u.Kind != "" && u.Kind != Unknown:
	case u.Used[limit.Images] != 0 && u.Used[limit.Tokens] == 0:
		item.Kind = imageKind
	default:
		item.Kind = Unknown
	}
	return item, unitOf(item.Kind)
}

func (c *comparison) noteUse(u *Use) {
	item, counted := u.item()
	d := c.day(item)
	d.ledger += u.Used[limit.Spend]
	d.used, d.estimated = d.used.Plus(u.Used), d.estimated.Plus(u.Estimated)
	c.Ledger, c.Estimated = c.Ledger.Plus(u.Used), c.Estimated.Plus(u.Estimated)
	if item.Kind == Unknown && (u.Used[counted] != 0 || u.Used[limit.Spend] != 0) {
		d.blind[limit.Tokens] = 1
	}
}

func (c *comparison) day(item Item) *day {
	item.Kind = ""
	if c.days[item] == nil {
		c.days[item] = &day{}
	}
	return c.days[item]
}

// difference is the item's, or that of all kinds together where one side does not know them.
func (c *comparison) difference(item Item) *Difference {
	d, counted := c.day(item), unitOf(item.Kind)
	if d.blind[counted] != 0 {
		item.Kind = Unknown
		if d.used[limit.Tokens] == 0 && d.used[limit.Images] != 0 {
			counted = limit.Images
		}
	}
	if c.items[item] == nil {
		c.items[item] = &Difference{
			Item: item, Unit: unit.Names[counted], Requests: d.estimated[limit.Requests],
			Estimated: Sum{d.estimated[counted], d.estimated[limit.Spend]},
		}
	}
	return c.items[item]
}

func (c *comparison) end(tolerance *big.Rat) {
	c.Within = within(c.Bill[limit.Spend], c.Ledger[limit.Spend], tolerance)
	billed, used := map[string]bool{}, map[string]bool{}
	for item, d := range c.days {
		if item.Model == limit.AdjustedModel && d.bill == 0 {
			continue
		}
		c.Within = c.Within && within(d.bill, d.ledger, tolerance)
	}
	for _, d := range c.items {
		billed[d.Model], used[d.Model] = billed[d.Model] || d.Bill != Sum{}, used[d.Model] || d.Ledger != Sum{}
		if d.Amount() != 0 || c.Counted && d.Quantity() != 0 {
			c.Differences = append(c.Differences, *d)
		}
	}
	slices.SortFunc(c.Differences, func(a, b Difference) int { return larger(&a, &b) })
	for _, model := range slices.Sorted(maps.Keys(billed)) {
		switch {
		case billed[model] && !used[model]:
			c.BillOnly = append(c.BillOnly, model)
		case used[model] && !billed[model] && model != limit.AdjustedModel:
			c.LedgerOnly = append(c.LedgerOnly, model)
		}
	}
}

func plus(a, b Sum) Sum { return Sum{a.Quantity + b.Quantity, a.Amount + b.Amount} }

// within reports whether two amounts differ by no more than a part of the bill's.
func within(bill, ledger int64, tolerance *big.Rat) bool {
	difference := new(big.Rat).SetInt64(bill - ledger)
	most := new(big.Rat).Mul(tolerance, new(big.Rat).SetInt64(bill))
	return difference.Abs(difference).Cmp(most.Abs(most)) <= 0
}

func larger(a, b *Difference) int {
	size := func(n int64) int64 { return max(n, -n) }
	return cmp.Or(cmp.Compare(size(b.Amount()), size(a.Amount())), cmp.Compare(size(b.Quantity()), size(a.Quantity())),
		cmp.Compare(a.Day, b.Day), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Kind, b.Kind))
}
