package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"sluice/policy/unit"
)

// moneyKey has the number of digits behind the point that amounts of money in Redis have. The first process that charges something writes
// it. It never changes, because every amount in Redis is read by it.
const moneyKey = schema + "currency_digits"

// agreement is what this process knows of that.
type agreement struct {
	Money  unit.Money // what this process counts in
	in     redis.UniversalClient
	agreed atomic.Bool
}

// Agree makes sure, before the first change of an account, that amounts in Redis count in what those of this process do. It takes two
// round trips, once.
func (a *agreement) Agree(ctx context.Context) error {
	if a.agreed.Load() {
		return nil
	}
	m, known, err := CountsIn(ctx, a.in)
	if err == nil {
		if !known {
			m = a.Money
		}
		m, err = claimMoney(ctx, a.in, m)
	}
	if err == nil {
		err = a.Money.Fixed(m)
	}
	a.agreed.Store(err == nil)
	return err
}

// claimMoney writes what amounts count in unless another process has, and returns what was written first.
func claimMoney(ctx context.Context, client redis.UniversalClient, m unit.Money) (unit.Money, error) {
	pipe := client.Pipeline()
	pipe.SetNX(ctx, moneyKey, m.Digits(), 0)
	got := pipe.Get(ctx, moneyKey)
	if _, err := pipe.Exec(ctx); err != nil {
		return m, err
	}
	return readMoney(got.Val())
}

// CountsIn returns what amounts of money in Redis count in. Where a version before this has charged something, that is [unit.Nanos]. It is
// not known before anything was charged.
func CountsIn(ctx context.Context, client redis.UniversalClient) (m unit.Money, known bool, err error) {
	pipe := client.Pipeline()
	got, used := pipe.Get(ctx, moneyKey), pipe.Exists(ctx, namesKey)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return m, false, err
	}
	if got.Err() != nil {
		return unit.Nanos, used.Val() > 0, nil
	}
	m, err = readMoney(got.Val())
	return m, err == nil, err
}

// CheckMoney returns the fault of a process that would count in something else than Redis does; nil also if that is not known at the moment.
func CheckMoney(ctx context.Context, client redis.UniversalClient, own unit.Money) error {
	if m, known, err := CountsIn(ctx, client); known && err == nil {
		return own.Fixed(m)
	}
	return nil
}

func readMoney(text string) (unit.Money, error) {
	digits, _ := strconv.Atoi(text)
	m, ok := unit.MoneyOf(digits)
	if !ok {
		return m, fmt.Errorf("%s has %q: a later version counts money otherwise", moneyKey, text)
	}
	return m, nil
}
