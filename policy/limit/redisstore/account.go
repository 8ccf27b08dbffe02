package redisstore

import (
	"context"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// takeAccount takes from all of the account's rates, or from none, and returns the rate with the longest wait. It is not repeated if
// its reply is lost, because these rates know no ids.
func (w *wire) takeAccount(ctx context.Context, h *limit.Hold) (fault teams.Rate, wait time.Duration, err error) {
	list := limit.AccountRates(h.Account, h.Amounts, 1)
	if len(list) == 0 {
		return fault, 0, nil
	}
	amounts := make([]int64, len(list))
	for i, a := range list {
		amounts[i] = a.Amount
	}
	return w.account(ctx, list, amounts, false)
}

// correctionTime is how long a correction of the account's rates may take.
const correctionTime = time.Second

// correctAccount brings the account's rates from what was held to what was used, for all settled charges in one call. It is not
// repeated, because these rates know no ids; a lost correction refills within the rate's period.
func (w *wire) correctAccount(ctx context.Context, charges []*limit.Charge) {
	var list []limit.AccountRate
	var amounts []int64
	at := map[string]int{}
	for _, c := range charges {
		for _, a := range limit.AccountRates(c.Held.Account, c.Held.Amounts, 1) {
			i, known := at[a.Name]
			if !known {
				i = len(list)
				at[a.Name], list, amounts = i, append(list, a), append(amounts, 0)
			}
			list[i].Rate = a.Rate // the latest reading, if a reload changed the rate
			amounts[i] += c.Amounts[a.Unit] - a.Amount
		}
	}
	if len(list) == 0 {
		return
	}
	_, _, _ = w.account(ctx, list, amounts, true)
}

// account runs account.lua, and returns the rate that refuses; with force it takes even if a bucket is empty.
func (w *wire) account(ctx context.Context, list []limit.AccountRate, amounts []int64, force bool) (fault teams.Rate, wait time.Duration, err error) {
	keys, rates := make([]any, len(list)), make([]rateArgs, len(list))
	for i, a := range list {
		keys[i], rates[i] = accountKeys+a.Name, rateArgsOf(a.Rate)
	}
	in, err := w.run(ctx, w.begin(accountScript, struct {
		Force   bool       `json:"force"`
		Rates   []rateArgs `json:"rates"`
		Amounts []int64    `json:"amounts"`
	}{force, rates, amounts}, keys...))
	if err != nil {
		return fault, 0, err
	}
	done, at, longest := in.next() == 1, in.next(), in.next()
	switch err := in.end(); {
	case err != nil || done:
		return fault, 0, err
	case at < 0 || at >= int64(len(list)):
		return fault, 0, errMixed
	}
	return list[at].Rate, micros(longest), nil
}
