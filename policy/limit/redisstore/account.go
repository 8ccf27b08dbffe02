package redisstore

import (
	"context"
	"time"

	"sluice/policy/limit"
	"sluice/policy/teams"
)

// takeAccount takes from all of the account's rates, or from none and says how long the slowest takes. It is not
// asked again when its reply is lost: these rates hold no id.
func (w *wire) takeAccount(ctx context.Context, h *limit.Hold) (fault teams.Rate, wait time.Duration, err error) {
	list := limit.AccountRates(h.Account, h.Amounts, 1)
	if len(list) == 0 {
		return fault, 0, nil
	}
	amounts := make([]int64, len(list))
	for i, a := range list {
		amounts[i] = a.Amount
	}
	reply, err := w.account(ctx, list, amounts, false)
	if err != nil || reply[0] == 1 {
		return fault, 0, err
	}
	return list[reply[1]].Rate, micros(reply[2]), nil
}

// correctionTime is how long a correction of the account's rates may take that no request waits for.
const correctionTime = time.Second

// correctAccount brings the account's rates from what was held to what was used of charges that were settled, all in one
// call. It is not repeated, because these rates hold no id, and it is nobody's failure: they refill within their period.
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
			list[i].Rate = a.Rate // the same key after a reload: as it was read last
			amounts[i] += c.Amounts[a.Unit] - a.Amount
		}
	}
	if len(list) == 0 {
		return
	}
	_, _ = w.account(ctx, list, amounts, true)
}

// account runs the script; with force it takes whatever there is.
func (w *wire) account(ctx context.Context, list []limit.AccountRate, amounts []int64, force bool) ([]int64, error) {
	keys := make([]any, len(list))
	for i, a := range list {
		keys[i] = accountKeys + a.Name
	}
	c := w.begin(accountScript, keys, 1+(rateArgs+1)*len(list)).add(flag(force))
	for i, a := range list {
		c.args = append(appendRate(c.args, a.Rate), amounts[i])
	}
	in, err := w.run(ctx, c, 3)
	if err == nil && in[1] >= int64(len(list)) {
		err = errMixed
	}
	return in, err
}
