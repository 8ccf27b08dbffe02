package limit

import (
	"encoding/json"

	"sluice/policy/price"
	"sluice/policy/teams"
)

// Part is what a row of the ledger used of one kind.
type Part struct {
	Kind      price.Kind // [price.Unknown]: what was used without a bill
	Size      string     // of pictures, the size of the price list that they have; may be empty
	Rate      int64      // for a million tokens or for one picture, in 10⁻⁹ of the currency; [price.Mixed]: no one rate held
	Used      Amounts    // the tokens or pictures, and the spend; no requests: they are of no kind
	Estimated Amounts    // of Used, as far as is known
}

// Parts divides a row by kind. What has none, such as estimates of holds and use from before the ledger knew kinds, is the last part. Its
// amounts may be below 0, after a correction. The ledger knows only the estimated part of the whole row: what has no bill is that first,
// because an estimate seldom has one, then the kinds in their order.
func (r *Row) Parts() (list []Part) {
	rest, doubt := r.Used, r.Estimated
	rest[Requests], doubt[Requests] = 0, 0
	for l := range r.Kinds.Lines() {
		p := Part{Kind: l.Kind, Size: l.Size, Rate: l.Rate}
		unit := Tokens
		if l.Kind == price.Image {
			unit = Images
		}
		p.Used[unit], p.Used[Spend] = l.Quantity, l.Amount
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

// kindEntries are the requests of a row and what it used of each kind. Together the entries of kinds have all of the row's tokens, pictures
// and spend, each once.
func (r *Row) kindEntries() (entries []Entry) {
	if r.Used[Requests] != 0 {
		entries = append(entries, r.entry(Requests, &r.Used, &r.Estimated))
	}
	for _, p := range r.Parts() {
		of := len(entries)
		for _, unit := range [...]int{Tokens, Images} {
			if p.Used[unit] != 0 {
				entries = append(entries, r.entry(unit, &p.Used, &p.Estimated))
			}
		}
		if of == len(entries) {
			entries = append(entries, r.entry(Spend, &p.Used, &p.Estimated))
		}
		for i := range entries[of:] {
			e := &entries[of+i]
			e.Kind, e.Size, e.Spend, e.EstimatedSpend = p.Kind.String(), p.Size, "0", "0"
			if p.Rate != price.Mixed {
				e.Price = number(Spend, p.Rate)
			}
		}
		last := &entries[len(entries)-1]
		last.Spend, last.EstimatedSpend = number(Spend, p.Used[Spend]), number(Spend, p.Estimated[Spend])
	}
	return entries
}

// entry is one unit of a row.
func (r *Row) entry(unit int, used, estimated *Amounts) Entry {
	return Entry{
		Day: DayText(r.Day), Model: r.Model, Endpoint: r.Endpoint, Account: r.Account, Tag: r.Tag, Key: r.Key, Unit: teams.Units[unit],
		Used: number(unit, used[unit]), Estimated: number(unit, estimated[unit]),
	}
}

func number(unit int, n int64) json.Number { return json.Number(Written(teams.Units[unit], n)) }
