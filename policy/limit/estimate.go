package limit

import (
	"sluice/policy"
	"sluice/policy/price"
	"sluice/policy/teams"
	"sluice/policy/unit"
)

// The estimated tokens of an answer if the request does not bound them.
const (
	absentMaxTokens      = 2048
	absentThinkingBudget = 8192
)

// The largest estimates, so that the sum of thousands of holds is still counted exactly: 2^40 tokens, and some thousands of the
// currency.
const (
	mostTokens = 1 << 40
	mostSpend  = 1 << 43
)

// Estimate returns the possible cost of a request. Images are exact, and so is the money for them as far as their size is known.
// Tokens are an estimate, at the price of input that misses the cache. It is at most a quarter of the smallest token bucket or quota
// of the team and of the key, so that no estimate is too large to pass; use beyond it becomes debt. A request of a guessed kind holds
// both, images and tokens: otherwise it could avoid the token limit by mentioning images. Its answer shows which of them it used. text
// is how much money the tokens add to that for the images.
func Estimate(q *policy.Request, team *teams.Team, key *teams.KeyLimits, p *price.Price) (a Amounts, text int64) {
	a = Amounts{Requests: 1}
	switch q.Kind {
	case policy.KindImage, policy.KindInterleaved, policy.KindTask:
		a = imagesOf(q, p)
		if !q.Guessed {
			return a, 0
		}
	case policy.KindOther: // the output is unknown: pictures in the request must not avoid the token limit
		a = imagesOf(q, p)
	}
	images := a[Spend]
	addText(&a, q, team, key, p)
	return a, a[Spend] - images
}

// imagesOf is the cost of a request's images.
func imagesOf(q *policy.Request, p *price.Price) Amounts {
	asked := price.AskedBy(q)
	bill, _ := price.Of(p, &asked)
	return AmountsOf(&bill)
}

// addText adds the estimate of a text. Its money counts if it is more than the images'.
func addText(a *Amounts, q *policy.Request, team *teams.Team, key *teams.KeyLimits, p *price.Price) {
	out, thinking := outputOf(q)
	bill, _ := price.Of(p, &price.Usage{Input: q.TextLength, Output: out + thinking, Thinking: thinking})
	text := AmountsOf(&bill)
	a[Tokens] = clamp(min(text[Tokens], mostTokens), team, key, unit.NameTokens)
	if text[Spend] > 0 {
		a[Spend] = max(a[Spend], clamp(min(text[Spend], mostSpend), team, key, unit.NameSpend))
	}
}

// outputOf estimates the answer: n times the maximum, and the thinking, which the maximum does not bound.
func outputOf(q *policy.Request) (out, thinking int64) {
	out = absentMaxTokens
	if q.Kind.IsInput() {
		return 0, 0
	}
	if q.MaxTokens.Set {
		out = q.MaxTokens.Value
	}
	if q.Thinking {
		thinking = absentThinkingBudget
		if q.ThinkingBudget.Set {
			thinking = q.ThinkingBudget.Value
		}
	}
	n := max(int64(q.N), 1)
	return min(out, mostTokens/n) * n, min(thinking, mostTokens)
}

// clamp limits an estimate to a quarter of the smallest bucket and quota of its unit, but not below 1.
func clamp(n int64, team *teams.Team, key *teams.KeyLimits, unit unit.Name) int64 {
	for _, rates := range [...][]teams.Rate{team.Rates, key.Rates} {
		for _, r := range rates {
			if r.Unit == unit {
				n = min(n, r.Burst/4)
			}
		}
	}
	for _, quotas := range [...][]teams.Quota{team.Quotas, team.TagQuotas, key.Quotas} {
		for _, q := range quotas {
			if q.Unit == unit {
				n = min(n, q.Limit/4)
			}
		}
	}
	return max(n, 1)
}

// AmountsOf returns the amounts of one request that has this bill.
func AmountsOf(bill *price.Bill) Amounts {
	a := Amounts{Requests: 1, Spend: bill.Total()}
	for k := range bill {
		of := price.Kind(k).Unit()
		a[of] = min(a[of]+bill[k].Quantity, unit.Most)
	}
	return a
}
