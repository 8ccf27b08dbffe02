package redisstore

import (
	"fmt"
	"maps"

	"sluice/policy/limit"
	"sluice/policy/price"
)

// kindOf names what the model adds up of a row of the ledger.
type kindOf struct {
	day       int
	row, kind string // kind with the size behind it
}

type kindUse struct{ quantity, rate, amount int64 }

// modelPrices have rates at which a request's amount is rounded up, and some for which it is not; other rates of longer requests; and
// sizes.
var modelPrices = func() (list []price.Price) {
	for _, rate := range []int64{1_333_333, 500_000, 2_000_000} {
		var r price.Rates
		r.Set(price.Input, rate)
		r.Set(price.Output, 3*rate)
		r.Set(price.Cached, 1)
		r.Set(price.Thinking, 7*rate)
		r.Set(price.CacheCreation, rate+1)
		var long, longest price.Rates
		long.Set(price.Input, 2*rate)
		longest.Set(price.Output, 5*rate)
		longest.Set(price.ImageInput, 11)
		list = append(list, price.Price{Rates: r, Above: []price.Border{{Input: 2, Rates: long}, {Input: 5, Rates: longest}},
			Images: []price.Size{{Word: "1K", Image: 1}, {UpToPixels: 1 << 20, Image: rate / 500_000}}})
	}
	return list
}()

// bill works out the bill of a settlement, and makes its total the spend. Estimates have no bill.
func (s *step) bill() (b price.Bill) {
	if s.Estimated {
		return b
	}
	tokens := s.Amounts[limit.Tokens]
	u := price.Usage{
		Input: tokens - tokens/3, Total: tokens, Images: s.Amounts[limit.Images], Size: "1K", Explicit: s.Parts[0]%2 == 1,
		Cached: s.Parts[0], CacheCreation: s.Parts[1], ImageInput: s.Parts[2], VideoInput: s.Parts[3], AudioInput: s.Parts[4],
		Thinking: s.Parts[5],
	}
	if s.Lease%2 == 1 {
		u.Pixels = 1000
	}
	b, _ = price.Of(&modelPrices[s.Team%len(modelPrices)], &u)
	s.Amounts[limit.Spend] = b.Total()
	return b
}

func (m *model) postKinds(h *modelHold, b *price.Bill) {
	for l := range b.Lines() {
		of := kindOf{h.Day, limit.LedgerName(h.Model, h.Endpoint, h.Account), l.Kind.String() + l.Size}
		sum, known := m.kinds[of]
		if !known {
			sum.rate = l.Rate
		} else if sum.rate != l.Rate {
			sum.rate = price.Mixed
		}
		m.kinds[of] = kindUse{sum.quantity + l.Quantity, sum.rate, sum.amount + l.Amount}
	}
}

// compareKinds checks the ledger's kinds, and that the kinds and what has none are the row's use.
func (f *form) compareKinds(m *model) error {
	got := map[kindOf]kindUse{}
	for _, row := range f.rows() {
		name := limit.LedgerName(row.Model, row.Endpoint, row.Account)
		var sum limit.Amounts
		for _, p := range row.Parts() {
			sum = sum.Plus(p.Used)
			if p.Kind != price.Unknown {
				got[kindOf{row.Day, name, p.Kind.String() + p.Size}] = kindUse{p.Used[limit.Tokens] + p.Used[limit.Images], p.Rate, p.Used[limit.Spend]}
			}
		}
		if sum[limit.Requests] = row.Used[limit.Requests]; sum != row.Used && row.Tag+row.Key == "" {
			return fmt.Errorf("the kinds of %s sum up to %v, its use is %v", name, sum, row.Used)
		}
	}
	if !maps.Equal(got, m.kinds) {
		return fmt.Errorf("the ledger has the kinds %v, the model says %v", got, m.kinds)
	}
	return nil
}
