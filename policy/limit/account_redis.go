package limit

import (
	"context"
	"time"

	"sluice/policy"
)

// takeAccount takes from all of the account's rates, or from none and says how long the slowest takes. It is not
// asked again when its reply is lost: these rates hold no id.
func (r *Redis) takeAccount(ctx context.Context, h *Hold) (fault policy.Rate, wait time.Duration, err error) {
	list := accountRates(h.Account, h.Amounts, 1)
	if len(list) == 0 {
		return fault, 0, nil
	}
	amounts := make([]int64, len(list))
	for i, a := range list {
		amounts[i] = a.amount
	}
	reply, err := r.account(ctx, list, amounts, false)
	if err != nil || reply[0] == 1 {
		return fault, 0, err
	}
	return list[reply[1]].rate, micros(reply[2]), nil
}

func (r *Redis) correctAccount(ctx context.Context, c *Charge) error {
	list := accountRates(c.Held.Account, c.Held.Amounts, 1)
	if len(list) == 0 {
		return nil
	}
	amounts := make([]int64, len(list))
	for i, a := range list {
		amounts[i] = c.Amounts.bound()[a.unit] - a.amount
	}
	_, err := r.account(ctx, list, amounts, true)
	return err
}

// account runs the script; with force it takes whatever there is.
func (r *Redis) account(ctx context.Context, list []accountRate, amounts []int64, force bool) ([]int64, error) {
	number := newNumber()
	call := accountScript.call(len(list), 3+(rateArgs+1)*len(list))
	for _, a := range list {
		call = append(call, accountKeys+a.name)
	}
	call = append(call, r.clock(), flag(force), number)
	for i, a := range list {
		call = append(appendRate(call, a.rate), amounts[i])
	}
	reply, err := accountScript.run(ctx, r.client, call)
	in, err := said(number, reply, err, 3)
	if err == nil && in[1] >= int64(len(list)) {
		err = errMixed
	}
	return in, err
}
