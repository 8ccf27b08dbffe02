package limit

import (
	"math/bits"

	"sluice/policy"
	"sluice/policy/teams"
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

// million is how many tokens a token price is for.
const million = 1_000_000

// SizeOf returns the possible cost of a request. Images are exact, and so is the money for them. Tokens are an estimate, which
// is never more than a quarter of the team's smallest token bucket or quota, so that no estimate is too large to pass;
// what the answer uses beyond it becomes debt. A request of a guessed kind holds both: otherwise a request could avoid
// the token limit by mentioning images. Its answer says which of them it used.
func SizeOf(q *policy.Request, team *teams.Team, price teams.Price) Amounts {
	a := Amounts{Requests: 1}
	switch q.Kind {
	case policy.KindImage, policy.KindInterleaved, policy.KindTask:
		a[Images] = int64(q.Images)
		a[Spend] = times(a[Images], price.Image, 1)
		if q.Guessed {
			addText(&a, q, team, price)
		}
	case policy.KindText, policy.KindChat:
		addText(&a, q, team, price)
	}
	return a
}

// addText adds the estimate of a text. Its money counts if it is more than the images'.
func addText(a *Amounts, q *policy.Request, team *teams.Team, price teams.Price) {
	out := outputOf(q)
	a[Tokens] = clamp(min(bounded(q.TextLength+out), mostTokens), team, teams.UnitTokens)
	money := bounded(times(q.TextLength, price.InputPerMillion, million) + times(out, price.OutputPerMillion, million))
	if money > 0 {
		a[Spend] = max(a[Spend], clamp(min(money, mostSpend), team, teams.UnitSpend))
	}
}

// outputOf estimates the answer: n times the maximum, and the thinking, which the maximum does not bound.
func outputOf(q *policy.Request) int64 {
	most, thinking := int64(absentMaxTokens), int64(0)
	if q.MaxTokens.Set {
		most = q.MaxTokens.Value
	}
	if q.Thinking {
		thinking = absentThinkingBudget
		if q.ThinkingBudget.Set {
			thinking = q.ThinkingBudget.Value
		}
	}
	return bounded(times(int64(q.N), bounded(most), 1) + bounded(thinking))
}

// clamp limits an estimate to a quarter of the smallest bucket and quota of its unit, and to 1 at least.
func clamp(n int64, team *teams.Team, unit teams.Unit) int64 {
	for _, r := range team.Rates {
		if r.Unit == unit {
			n = min(n, r.Burst/4)
		}
	}
	for _, quotas := range [...][]teams.Quota{team.Quotas, team.TagQuotas} {
		for _, q := range quotas {
			if q.Unit == unit {
				n = min(n, q.Limit/4)
			}
		}
	}
	return max(n, 1)
}

// Usage is the usage of a request by its answer.
type Usage struct {
	Input, Output, Total int64 // tokens; Total may be absent, which is 0
	Images               int64
}

// CostOf returns the cost of a request that was sent. Images are charged whenever the answer counts some; requests of the kinds that
// make images are charged no tokens.
func CostOf(kind policy.Kind, used Usage, price teams.Price) Amounts {
	a := Amounts{Requests: 1, Images: bounded(used.Images)}
	a[Spend] = times(a[Images], price.Image, 1)
	if kind == policy.KindText || kind == policy.KindChat {
		in := bounded(used.Input)
		a[Tokens] = max(bounded(used.Total), bounded(in+bounded(used.Output)))
		money := times(in, price.InputPerMillion, million) + times(a[Tokens]-min(in, a[Tokens]), price.OutputPerMillion, million)
		a[Spend] = bounded(a[Spend] + bounded(money))
	}
	return a
}

// bounded is n within what can be counted exactly.
func bounded(n int64) int64 { return min(max(n, 0), teams.MaxAmount) }

// times is a × b ÷ c, rounded up, at most what can be counted exactly.
func times(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(bounded(a)), uint64(bounded(b)))
	lo, carry := bits.Add64(lo, uint64(c-1), 0)
	hi += carry
	if hi >= uint64(c) {
		return teams.MaxAmount
	}
	n, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(n, teams.MaxAmount))
}
