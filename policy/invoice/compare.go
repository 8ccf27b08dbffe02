package invoice

import (
	"cmp"
	"maps"
	"math/big"
	"slices"

	"sluice/policy/limit"
	"sluice/policy/unit"
)

// Difference is an item in the bill and in the ledger.
type Difference struct {
	Item
	Unit      unit.Name // of the quantities: tokens or images
	Bill      Sum
	Ledger    Sum
	Estimated Sum   // the estimated part of the ledger's use of the model on that day, of all kinds, in the same unit
	Requests  int64 // estimated requests of the model on that day: their answers did not state their usage
}

// Amount is how much more the bill charges, in the ledger's Money.
func (d *Difference) Amount() int64 { return d.Bill.Amount - d.Ledger.Amount }

// Quantity is how many tokens or pictures more the bill charges.
func (d *Difference) Quantity() int64 { return d.Bill.Quantity - d.Ledger.Quantity }

// Use is what a team used of a model on a day, by the ledger.
type Use struct {
	Team    string
	Account string // at the service; empty: main
	Day     int    // in UTC, as 20261121
	Model   string
	Kind    string // a name of price.Table, or Unknown; "": the ledger does not know the kinds

	Used, Estimated limit.Amounts // the estimated part is of Used
	Rounded         int64         // the most by which its money was rounded up, request by request
	Correction      bool          // by sluice adjust, without a model
}

// OnAccount returns what was used on one account at the service; empty: on all.
func OnAccount(ledger []Use, account string) []Use {
	return slices.DeleteFunc(ledger, func(u Use) bool { return account != "" && limit.AccountName(u.Account) != account })
}

// Report compares a bill with the ledger.
type Report struct {
	Counted                 bool          // the bill has quantities, so tokens and images are compared, too
	Bill, Ledger, Estimated limit.Amounts // sums; the estimated part is the ledger's
	Differences             []Difference  // items with a difference, the largest amount first
	BillOnly, LedgerOnly    []string      // models that only one side has
	Rounded                 int64         // the most by which the ledger's money was rounded up, request by request
	Within                  bool          // the sum, and each day's sum of each model, are within the tolerance
	Corrections             []limit.Correction
	LeftOut                 []int  // days that are not compared: the bill has only a part of them
	Partial                 []Cell // compared, although the bill has only a part of their days, so they have no corrections
	Unbilled                []Cell // likewise without corrections: the bill has no line for them
	Nameless                []Cell // likewise: their accounts are words of the bill that are not ids
	Unused                  []Cell // likewise, in some unit: no team has any use in the ledger by which to divide the difference
	Credits                 []Cell // corrected only in part, in some unit: the bill is below 0, to which use cannot fall
}

// day is a model on a day.
type day struct {
	sides
	estimated limit.Amounts
	used      limit.Amounts
	blind     limit.Amounts // 1 for a unit whose kinds one side does not know
}

// counted is an item and the index of the unit that it is counted in: use of unknown kind may have tokens and
// pictures.
type counted struct {
	Item
	unit int
}

// comparison is a report that is being made.
type comparison struct {
	days  map[Item]*day
	items map[counted]*Difference
	cells cells
	Report
}

// Compare compares a bill with the ledger. The tolerance is a fraction of what the bill charges: 5/1000; in addition
// the ledger may exceed the bill by what it was rounded up by. If one side does not know the kinds of a model's use on
// a day, the kinds of the other side are added up. Corrections (sluice adjust) have no model: on a day with one of money,
// the sum of all models is compared.
func Compare(sums *Sums, ledger []Use, tolerance *big.Rat) Report {
	c := comparison{
		days: map[Item]*day{}, items: map[counted]*Difference{}, cells: cellsOf(sums, ledger),
		Report: Report{Counted: sums.Counted, LeftOut: sums.LeftOut},
	}
	ledger = divided(ledger)
	for i := range ledger {
		c.noteUse(&ledger[i])
	}
	for item, sum := range sums.Of {
		d := c.day(item)
		d.bill += sum.Amount
		if item.Kind == Unknown && sum != (Sum{}) {
			if d.blind[limit.Tokens] = 1; !sums.Own && (sum.Quantity != 0 || !sums.Counted) { // a fee has no pictures
				d.blind[limit.Images] = 1
			}
		}
	}
	for item, sum := range sums.Of {
		d := c.difference(item)
		d.Bill = plus(d.Bill, sum)
		c.Bill[unit.Index(d.Unit)] += sum.Quantity
		c.Bill[limit.Spend] += sum.Amount
		c.cells.bill(item, d.Unit, sum)
	}
	for i := range ledger {
		u := &ledger[i]
		if item, counted := u.item(); u.Used[counted] != 0 || u.Used[limit.Spend] != 0 {
			d := c.difference(item)
			d.Ledger = plus(d.Ledger, Sum{u.Used[counted], u.Used[limit.Spend]})
		}
	}
	c.end(tolerance)
	c.cells.correct(&c.Report, sums.Partial)
	return c.Report
}

// units are the units that are compared, as indices of amounts.
func (r *Report) units() []int { return append(r.Quantities(), limit.Spend) }

// Quantities are the units, as indices of amounts, in which quantities are compared.
func (r *Report) Quantities() (units []int) {
	for u := range unit.Table {
		if r.Counted && u != limit.Requests && u != limit.Spend {
			units = append(units, u)
		}
	}
	return units
}

// divided splits use of unknown kind that has both tokens and pictures, as Sluice's own bills are read. The money
// stays with the tokens.
func divided(ledger []Use) (all []Use) {
	for i := range ledger {
		u := ledger[i]
		if (u.Kind == "" || u.Kind == Unknown) && u.Used[limit.Images] != 0 && u.Used[limit.Tokens] != 0 {
			pictures := u
			pictures.Used, pictures.Estimated, pictures.Rounded = limit.Amounts{limit.Images: u.Used[limit.Images]},
				limit.Amounts{limit.Images: u.Estimated[limit.Images]}, 0
			u.Used[limit.Images], u.Estimated[limit.Images] = 0, 0
			all = append(all, pictures)
		}
		all = append(all, u)
	}
	return all
}

// item is the item of the use, and the unit in which it is counted. The money of use without a kind belongs to its
// pictures or to its tokens.
func (u *Use) item() (item Item, counted int) {
	item = Item{Day: u.Day, Model: u.Model, Kind: u.Kind}
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
	d.ledger, d.rounded, d.corrected = d.ledger+u.Used[limit.Spend], d.rounded+u.Rounded,
		d.corrected || u.Correction && u.Used[limit.Spend] != 0
	d.used, d.estimated = d.used.Plus(u.Used), d.estimated.Plus(u.Estimated)
	c.Ledger, c.Estimated, c.Rounded = c.Ledger.Plus(u.Used), c.Estimated.Plus(u.Estimated), c.Rounded+u.Rounded
	if item.Kind == Unknown && (u.Used[counted] != 0 || u.Used[limit.Spend] != 0) {
		d.blind[limit.Tokens] = 1
	}
}

func (c *comparison) day(item Item) *day {
	item.Account, item.Kind = "", ""
	if c.days[item] == nil {
		c.days[item] = &day{}
	}
	return c.days[item]
}

// difference is the item's or, if one side does not know the kinds, that of all kinds together. Unknown use is
// pictures if the ledger has only pictures. Otherwise pictures are separate, unless only money is compared.
func (c *comparison) difference(item Item) *Difference {
	d, in := c.day(item), unitOf(item.Kind)
	item.Account = ""
	pictures := d.blind[limit.Images] != 0 && d.used[limit.Tokens] == 0 && d.used[limit.Images] != 0
	switch {
	case pictures && (item.Kind == Unknown || in == limit.Images):
		item.Kind, in = Unknown, limit.Images
	case d.blind[in] != 0 && (in == limit.Tokens || !c.Counted):
		item.Kind, in = Unknown, limit.Tokens
	}
	name := counted{item, in}
	if c.items[name] == nil {
		c.items[name] = &Difference{
			Item: item, Unit: unit.Names[in], Requests: d.estimated[limit.Requests],
			Estimated: Sum{d.estimated[in], d.estimated[limit.Spend]},
		}
	}
	return c.items[name]
}

func (c *comparison) end(tolerance *big.Rat) {
	c.Within = c.withinEach(tolerance)
	billed, used := map[string]bool{}, map[string]bool{}
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

func larger(a, b *Difference) int {
	size := func(n int64) int64 { return max(n, -n) }
	return cmp.Or(cmp.Compare(size(b.Amount()), size(a.Amount())), cmp.Compare(size(b.Quantity()), size(a.Quantity())),
		cmp.Compare(a.Day, b.Day), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Unit, b.Unit))
}
