package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"sluice/policy/limit"
)

// settle charges a hold once. With post, a hold that the state has lost, or never had, is charged all the same.
func (r *Store) settle(ctx context.Context, c *limit.Charge, used limit.Amounts, post bool) (bool, error) {
	if !used.Valid() {
		return false, limit.ErrAmounts
	}
	o := r.own.Get(c.Held.Team)
	for range 3 {
		done, err := r.settleOnce(ctx, c, used, post)
		if err == nil {
			o.settled(c.Held)
		}
		if !errors.Is(err, ErrNotDone) {
			return done, err
		}
		if err := r.Restore(ctx, c.Held.Team, Loss{}); err != nil {
			return false, fmt.Errorf("%w: %w", ErrNotDone, err)
		}
	}
	return false, errForgets
}

func (r *Store) settleOnce(ctx context.Context, c *limit.Charge, used limit.Amounts, post bool) (bool, error) {
	if plain(c) {
		s := r.batch([]*limit.Charge{c}, []limit.Amounts{used})
		reply, err := batchScript.run(ctx, r.client, s.call)
		if done, err := r.batched(&s, reply, err); done || err != nil {
			return done, err
		}
	}
	s := r.settlement([]*limit.Charge{c}, []limit.Amounts{used}, post)
	reply, err := settleScript.run(ctx, r.client, s.call)
	done, err := r.settlements(&s, reply, err, 1)
	return err == nil && done[0] == 1, err
}

// settlement is a call that settles charges of one team, and what its reply is about.
type settlement struct {
	call   []any
	number int64
	team   string
	counts []count // of batch.lua
}

func (r *Store) settlement(charges []*limit.Charge, used []limit.Amounts, post bool) settlement {
	k, number := r.keysOf(charges[0].Held.Team), newNumber()
	known := r.own.Get(k.team).witness()
	call := append(settleScript.call(5+len(charges), 21+9*len(charges)), k.shared...)
	for _, c := range charges {
		call = append(call, k.hold+c.Held.ID)
	}
	call = append(call, r.Clock(), k.team, number, k.ledger)
	call = append(append(call, k.wired(charges[0].Team).rates...), known.epoch, known.seq)
	for i, c := range charges {
		h, day := c.Held, ""
		if post && h.Day > 0 { // one that does not know its day is known to Redis, or lost to all
			day = strconv.Itoa(h.Day)
		}
		call = append(call, h.ID, flag(c.Estimated), day, h.Month, h.What(), flag(h.Task), written(used[i]), MemoryOf(c).Milliseconds(), flag(!c.Sum))
	}
	return settlement{call: call, number: number, team: k.team}
}

// settlements reads the reply to so many settlements.
func (r *Store) settlements(s *settlement, reply []int64, err error, n int) ([]int64, error) {
	st, done, err := readStanding(s.number, reply, err, n)
	if err == nil {
		err = notTaken(st.Outcome)
	}
	if err == nil {
		r.own.Get(s.team).know(&st)
	}
	return done, err
}

// notTaken is the error of a settlement that did nothing.
func notTaken(of limit.Outcome) error {
	switch of {
	case lost:
		return ErrNotDone
	case restoring:
		return errRestoring
	}
	return nil
}

// MemoryOf is how long what settles a charge remembers its hold.
func MemoryOf(c *limit.Charge) time.Duration {
	if c.Held.Task || c.Held.Local {
		return limit.LateTruth
	}
	return remembered
}
