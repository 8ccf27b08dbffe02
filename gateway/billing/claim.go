package billing

import (
	"encoding/json"

	"sluice/cache"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/price"
)

// Keep notes in a task's hold its amounts and the price of its pictures, so that later prices do not change it.
func (p *Pricing) Keep(hold *cache.Hold, held *limit.Amounts) {
	if hold.Governed {
		hold.Tokens, hold.Spend = held[limit.Tokens], held[limit.Spend]
	}
	if hold.Images, hold.Size = held[limit.Images], p.Size; p.Price == nil {
		return
	}
	hold.Whole, _ = json.Marshal(p.Price) // names and numbers always encode
	one := price.Asked(1, p.Size)
	bill, _ := price.Of(p.Price, &one)
	hold.Price = bill.Total()
}

// priceIn is the price that a task's claim keeps. A price that cannot be read counts as absent, as in claims of older versions.
func priceIn(hold *cache.Hold) *price.Price {
	p := new(price.Price)
	if hold.Whole != nil && json.Unmarshal(hold.Whole, p) == nil {
		return p
	}
	p = new(price.Price)
	p.Rates.Set(price.Image, hold.Price)
	return p
}

// OfTask is the bill of a task for what it used, and whether that contradicts itself. A task of a forwarded path that is not read costs
// only its request.
func OfTask(hold *cache.Hold, used price.Usage) (bill price.Bill, contradicts bool) {
	if Forwarded(hold) {
		used = price.Usage{}
	}
	return price.Of(priceIn(hold), &used)
}

// Unpriced reports whether a task's model has a price, but none of what it is charged for.
func Unpriced(hold *cache.Hold, charged *limit.Amounts, of *price.Bill) bool {
	return of != nil && priceIn(hold).Missing(charged) != "" && hold.Whole != nil
}

// HeldByTask is what a task holds, and its bill; nil: it holds tokens, whose kinds are unknown.
func HeldByTask(hold *cache.Hold) (limit.Amounts, *price.Bill) {
	bill, _ := OfTask(hold, price.Asked(hold.Images, hold.Size))
	held := limit.AmountsOf(&bill)
	if hold.Tokens == 0 {
		return held, &bill
	}
	held[limit.Tokens], held[limit.Spend] = hold.Tokens, hold.Spend
	return held, nil
}

// Forwarded reports whether a task was made on a forwarded path whose bodies are not read.
func Forwarded(hold *cache.Hold) bool {
	return hold.Endpoint == string(policy.EndpointOther) && !hold.Governed
}
