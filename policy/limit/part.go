package limit

import (
	"encoding/json"

	"sluice/policy/price"
	"sluice/policy/unit"
)

// Part is what a row of the ledger used of one kind.
type Part struct {
	Kind      price.Kind // [price.Unknown]: use without a bill
	Size      string     // of pictures, the size of the price list that they have; may be empty
	Rate      int64      // for a million tokens or for one picture; [price.Mixed]: the rate changed
	Used      Amounts    // the tokens or pictures, and the spend; requests have no kind
	Estimated Amounts    // of Used, as far as is known
}

// Parts divides a row by kind. The last part is the use without a kind, such as estimates of holds and use from before the ledger knew
// kinds; its amounts may be below 0 after a correction. The ledger knows the estimated amounts only of the whole row: they are
// assigned first to the use without a kind, because an estimate seldom has a bill, then to the kinds in their order.
func (r *Row) Parts() (list []Part) {
	rest, doubt := r.Used, r.Estimated
	rest[Requests], doubt[Requests] = 0, 0
	for l := range r.Kinds.Lines() {
		p := Part{Kind: l.Kind, Size: l.Size, Rate: l.Rate}
		p.Used[l.Kind.Unit()], p.Used[Spend] = l.Quantity, l.Amount
		rest = rest.Minus(p.Used)
		list = append(list, p)
	}
	if rest != (Amounts{}) {
		list = append(list, Part{Kind: price.Unknown, Rate: price.Mixed, Used: rest})
	}
	for i := range list {
		p := &list[i]
		if rest != (Amounts{}) {
			p = &list[(i+len(list)-1)%len(list)]
		}
		for u := range p.Used {
			p.Estimated[u] = min(max(doubt[u], 0), max(p.Used[u], 0))
		}
		doubt = doubt.Minus(p.Estimated)
	}
	return list
}

// kindEntries are the requests of a row and its use of each kind. Together the entries of kinds have all of the row's tokens, pictures
// and spend, each once.
func (r *Row) kindEntries(m unit.Money) (entries []Entry) {
	if r.Used[Requests] != 0 {
		entries = append(entries, r.entry(m, Requests, &r.Used, &r.Estimated))
	}
	for _, p := range r.Parts() {
		of := len(entries)
		for u, n := range p.Used {
			if n != 0 && u != Spend {
				entries = append(entries, r.entry(m, u, &p.Used, &p.Estimated))
			}
		}
		if of == len(entries) {
			entries = append(entries, r.entry(m, Spend, &p.Used, &p.Estimated))
		}
		for i := range entries[of:] {
			e := &entries[of+i]
			e.Kind, e.Size, e.Spend, e.EstimatedSpend = p.Kind.String(), p.Size, "0", "0"
			if p.Rate != price.Mixed {
				e.Price = number(m, Spend, p.Rate)
			}
		}
		last := &entries[len(entries)-1]
		last.Spend, last.EstimatedSpend = number(m, Spend, p.Used[Spend]), number(m, Spend, p.Estimated[Spend])
	}
	return entries
}

// entry is one unit of a row.
func (r *Row) entry(m unit.Money, u int, used, estimated *Amounts) Entry {
	return Entry{
		Day: DayText(r.Day), Model: r.Model, Endpoint: r.Endpoint, Account: r.Account, Tag: r.Tag, Key: r.Key, Unit: unit.Names[u],
		Used: number(m, u, used[u]), Estimated: number(m, u, estimated[u]),
	}
}

func number(m unit.Money, u int, n int64) json.Number {
	return json.Number(m.Written(unit.Names[u], n))
}
