package limit

import (
	"context"
	"strconv"
	"time"
)

// settle charges a hold once. With post, a hold that the state has lost, or never had, is charged all the same.
func (r *Redis) settle(ctx context.Context, c *Charge, used Amounts, post bool) (bool, error) {
	done, err := r.settleOnce(ctx, c, used, post)
	if err == nil {
		r.ownOf(c.Held.Team).settled(c.Held)
	}
	return done, err
}

func (r *Redis) settleOnce(ctx context.Context, c *Charge, used Amounts, post bool) (bool, error) {
	if !used.valid() {
		return false, errAmounts
	}
	if c.plain() {
		s := r.batch([]*Charge{c}, []Amounts{used})
		reply, err := batchScript.run(ctx, r.client, s.call)
		if done, err := said(s.number, reply, err, 1); err != nil || done[0] == 1 {
			return err == nil, err
		}
	}
	s := r.settlement([]*Charge{c}, []Amounts{used}, post)
	reply, err := settleScript.run(ctx, r.client, s.call)
	done, err := said(s.number, reply, err, 1)
	return err == nil && done[0] == 1, err
}

// settlement is a call of settle.lua for charges of one team, and the number that its reply begins with.
type settlement struct {
	call   []any
	number int64
}

func (r *Redis) settlement(charges []*Charge, used []Amounts, post bool) settlement {
	k, number := r.keysOf(charges[0].Held.Team), newNumber()
	call := append(settleScript.call(5+len(charges), 19+9*len(charges)), k.shared...)
	for _, c := range charges {
		call = append(call, k.hold+c.Held.ID)
	}
	call = append(call, r.clock(), k.team, number, k.ledger)
	call = append(call, k.wired(charges[0].Team).rates...)
	for i, c := range charges {
		h, day := c.Held, ""
		if post && h.Day > 0 { // one that does not know its day is known to Redis, or lost to all
			day = strconv.Itoa(h.Day)
		}
		call = append(call, h.ID, c.doubt(), day, h.Month, h.what(), flag(h.Task), written(used[i]), c.rated(), c.memory().Milliseconds())
	}
	return settlement{call, number}
}

// doubt is how certain a charge is, for settle.lua.
func (c *Charge) doubt() int {
	if c.lapsed {
		return 2
	}
	return flag(c.Estimated)
}

// rated is what a charge takes from the rates, where that is not its amounts.
func (c *Charge) rated() string {
	if c.rates == nil {
		return ""
	}
	return written(*c.rates)
}

func (c *Charge) memory() time.Duration {
	if c.sum || c.lapsed || c.Held.Task {
		return lateTruth
	}
	return remembered
}
