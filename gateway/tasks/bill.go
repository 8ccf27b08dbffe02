package tasks

import (
	"encoding/json"

	"sluice/cache"
	"sluice/policy"
	"sluice/policy/limit"
	"sluice/policy/price"
	"sluice/telemetry"
	"sluice/telemetry/meter"
)

// UsageOf is what an answer says that a request used. Tokens count for requests of text alone. size is the size of a picture that the
// request named, for answers that do not say it.
func UsageOf(r *meter.Reading, text bool, size string) (used price.Usage) {
	u := &r.Usage
	if used.Images, _ = r.Images(); used.Images > 0 {
		used.Pixels, used.Size = u.Size()
		if used.Pixels == 0 && used.Size == "" {
			used.Pixels, used.Size = policy.Pixels(size), size
		}
	}
	if !text {
		return used
	}
	used.Explicit = u.HitsMadeCache()
	for _, part := range [...]struct {
		of    meter.Field
		count *int64
	}{
		{meter.InputTokens, &used.Input}, {meter.OutputTokens, &used.Output}, {meter.TotalTokens, &used.Total},
		{meter.CachedTokens, &used.Cached}, {meter.CacheCreationTokens, &used.CacheCreation}, {meter.ReasoningTokens, &used.Thinking},
		{meter.ImageTokens, &used.ImageInput}, {meter.VideoTokens, &used.VideoInput}, {meter.AudioTokens, &used.AudioInput},
	} {
		*part.count, _ = u.Get(part.of)
	}
	return used
}

// PriceIn is the price that a task's claim keeps. What cannot be read is as if an older version had written the claim.
func PriceIn(hold *cache.Hold) *price.Price {
	p := new(price.Price)
	if hold.Whole != nil && json.Unmarshal(hold.Whole, p) == nil {
		return p
	}
	p = new(price.Price)
	p.Rates.Set(price.Image, hold.Price)
	return p
}

// billOf is the bill of a task for the pictures of its answer. A task of a forwarded path costs only its request.
func billOf(hold *cache.Hold, used price.Usage) price.Bill {
	if forwarded(hold) {
		used = price.Usage{}
	}
	bill, _ := price.Of(PriceIn(hold), &used)
	return bill
}

// heldBill is the bill of as many pictures as a task holds.
func heldBill(hold *cache.Hold) price.Bill {
	return billOf(hold, price.Usage{Images: hold.Images, Pixels: policy.Pixels(hold.Size), Size: hold.Size})
}

// HeldBy is what a task holds until its end.
func HeldBy(hold *cache.Hold) limit.Amounts {
	bill := heldBill(hold)
	return limit.AmountsOf(&bill)
}

func forwarded(hold *cache.Hold) bool { return hold.Endpoint == string(policy.EndpointOther) }

// Cost is amounts in the form of the log.
func Cost(a limit.Amounts, flag string) telemetry.Cost {
	return telemetry.Cost{Known: true, Amounts: a, Flag: flag}
}
