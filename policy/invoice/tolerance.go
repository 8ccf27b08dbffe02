package invoice

import "math/big"

// sides are the money of bill and ledger.
type sides struct {
	bill, ledger, rounded int64
	corrected             bool // the ledger has a correction of the money
}

func (s *sides) add(o *sides) {
	s.bill, s.ledger, s.rounded = s.bill+o.bill, s.ledger+o.ledger, s.rounded+o.rounded
}

// within reports whether two amounts differ by no more than a fraction of the bill's, apart from what the ledger was
// rounded up by.
func (s *sides) within(tolerance *big.Rat) bool {
	up := min(max(s.ledger-s.bill, 0), s.rounded)
	difference := new(big.Rat).SetInt64(s.bill - s.ledger + up)
	most := new(big.Rat).Mul(tolerance, new(big.Rat).SetInt64(s.bill))
	return difference.Abs(difference).Cmp(most.Abs(most)) <= 0
}

// withinEach reports whether the whole sum is within the tolerance, and each day's sum of each model, or, on a day
// with a correction of the money, of all models.
func (c *comparison) withinEach(tolerance *big.Rat) bool {
	all, dates := sides{}, map[int]*sides{}
	for item, d := range c.days {
		date := dates[item.Day]
		if date == nil {
			date = new(sides)
			dates[item.Day] = date
		}
		all.add(&d.sides)
		date.add(&d.sides)
		date.corrected = date.corrected || d.corrected
	}
	for item, d := range c.days {
		of := &d.sides
		if dates[item.Day].corrected {
			of = dates[item.Day]
		}
		if !of.within(tolerance) {
			return false
		}
	}
	return all.within(tolerance)
}
