package invoice

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"

	"sluice/policy/limit"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// Cell is a day, and an account at the service if the bill names the account of each line. Corrections make bill and
// ledger of each cell equal.
type Cell struct {
	Day     int
	Account string // "": all
}

// cells are bill and ledger by cell.
type cells struct {
	of    map[Cell]*cell
	apart bool     // by account
	used  [2]useOf // of the ledger, by who used it: all use, and the estimated part
}

type cell struct {
	billed, ledger limit.Amounts
	has            bool // the bill has a line for it
	used           [2]useOf
}

// who is a team, and the account at the service that it used; empty: main.
type who struct{ team, account string }

type useOf map[who]limit.Amounts

func newUse() [2]useOf { return [2]useOf{{}, {}} }

// cellsOf are the cells of the ledger, to which bill adds those of a bill. The accounts of a bill are separate if its
// map names them, or if the ledger has all of them: other words may be the service's own numbers of accounts.
func cellsOf(sums *Sums, ledger []Use) cells {
	c := cells{of: map[Cell]*cell{}, used: newUse()}
	known := map[string]bool{limit.AccountName(""): true}
	for i := range ledger {
		known[limit.AccountName(ledger[i].Account)] = true
	}
	c.apart = sums.Accounts != nil
	for item := range sums.Of {
		c.apart = c.apart && item.Account != "" && (sums.Named || known[item.Account])
	}
	for i := range ledger {
		u := &ledger[i]
		in, by := c.at(u.Day, limit.AccountName(u.Account)), who{u.Team, u.Account}
		in.ledger = in.ledger.Plus(u.Used)
		for _, of := range [...][2]useOf{in.used, c.used} {
			of[0][by], of[1][by] = of[0][by].Plus(u.Used), of[1][by].Plus(u.Estimated)
		}
	}
	return c
}

func (c *cells) at(day int, account string) *cell {
	name := Cell{Day: day}
	if c.apart {
		name.Account = account
	}
	if c.of[name] == nil {
		c.of[name] = &cell{used: newUse()}
	}
	return c.of[name]
}

// bill adds a sum of the bill, whose quantity is in the given unit.
func (c *cells) bill(item Item, of unit.Name, sum Sum) {
	in := c.at(item.Day, item.Account)
	in.has = true
	in.billed[unit.Index(of)] += sum.Quantity
	in.billed[limit.Spend] += sum.Amount
}

// correct proposes corrections that would make bill and ledger of each cell equal in the units that are compared. The
// bill knows no teams: what it has more is divided in proportion to the estimated part of each team's use, or to all
// use if nothing is estimated. What it has less is taken back from estimates first, and from no team more than it
// used. Nothing is proposed for a cell of a partial day, or one that is not on the bill, because the bill may begin later,
// end earlier or be another account's; for a cell whose account is a word of the bill that cannot be the id of an account at the service;
// or for an excess of the bill where no team used anything. Where the bill is below 0, a credit, all use is taken back.
func (c *cells) correct(r *Report, partial []int) {
	units := r.units()
	order := slices.SortedFunc(maps.Keys(c.of), func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Account, b.Account))
	})
	for _, name := range order {
		in := c.of[name]
		if slices.Contains(partial, name.Day) {
			r.Partial = append(r.Partial, name)
			continue
		}
		if !in.has {
			r.Unbilled = append(r.Unbilled, name)
			continue
		}
		if name.Account != "" && !teams.IsID(name.Account) {
			r.Nameless = append(r.Nameless, name)
			continue
		}
		for _, u := range units {
			shares := c.shares(in, name, u)
			switch rest := in.billed[u] - in.ledger[u] - shares.sum(); {
			case rest > 0 && !slices.Contains(r.Unused, name):
				r.Unused = append(r.Unused, name)
			case rest < 0 && !slices.Contains(r.Credits, name):
				r.Credits = append(r.Credits, name)
			}
			for by, n := range shares {
				r.Corrections = append(r.Corrections, limit.Correction{
					Team: by.team, Account: by.account, Day: name.Day, Unit: unit.Names[u],
					Delta: n,
				})
			}
		}
	}
	slices.SortStableFunc(r.Corrections, func(a, b limit.Correction) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Account, b.Account), cmp.Compare(a.Team, b.Team),
			cmp.Compare(slices.Index(units, unit.Index(a.Unit)), slices.Index(units, unit.Index(b.Unit))))
	})
}

// shares divides a cell's difference in a unit.
func (c *cells) shares(in *cell, name Cell, u int) weights {
	more := in.billed[u] - in.ledger[u]
	if more < 0 {
		doubtful, sure := weights{}, weights{}
		for by, n := range in.used[0] {
			doubtful[by] = min(max(in.used[1][by][u], 0), max(n[u], 0))
			sure[by] = max(n[u], 0) - doubtful[by]
		}
		first := min(-more, doubtful.sum())
		parts := doubtful.divide(first)
		for by, n := range sure.divide(min(-more-first, sure.sum())) {
			parts[by] += n
		}
		for by := range parts {
			parts[by] = -parts[by]
		}
		return parts.without0()
	}
	for _, of := range [...]struct {
		use  useOf
		unit int
	}{{in.used[1], u}, {in.used[0], u}, {c.used[0], u}, {c.used[0], limit.Spend}, {c.used[0], limit.Tokens}} {
		w := weights{}
		for by, n := range of.use {
			if name.Account != "" {
				by.account = strings.TrimPrefix(limit.AccountMark(name.Account), "@")
			}
			w[by] += max(n[of.unit], 0)
		}
		if w.sum() > 0 {
			return w.divide(more).without0()
		}
	}
	return nil
}

// weights are the proportions in which a difference is divided.
type weights map[who]int64

func (w weights) sum() (sum int64) {
	for _, n := range w {
		sum += n
	}
	return sum
}

// divide divides an amount in proportion, so that an amount of at most the sum gives each at most its weight. The last
// ones get the remainder of the rounding.
func (w weights) divide(amount int64) weights {
	parts, sum, left := weights{}, big.NewInt(w.sum()), amount
	if sum.Sign() == 0 {
		return parts
	}
	order := slices.SortedFunc(maps.Keys(w), func(a, b who) int {
		return cmp.Or(cmp.Compare(a.team, b.team), cmp.Compare(a.account, b.account))
	})
	for _, by := range order {
		share := new(big.Int).Mul(big.NewInt(amount), big.NewInt(w[by]))
		parts[by] = share.Quo(share, sum).Int64()
		left -= parts[by]
	}
	for _, by := range slices.Backward(order) {
		if left > 0 && w[by] > 0 {
			parts[by]++
			left--
		}
	}
	return parts
}

func (w weights) without0() weights {
	maps.DeleteFunc(w, func(_ who, n int64) bool { return n == 0 })
	return w
}
