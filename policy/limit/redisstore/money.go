package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/unit"
)

// moneyKey holds the number of decimals of all amounts of money in Redis. The first process that charges something writes it. It never
// changes, because every amount is read by it.
const moneyKey = schema + "currency_digits"

// agreement is what this process knows of moneyKey.
type agreement struct {
	Money unit.Money // what this process counts in
	// OnOtherMoney is called with [limit.ErrMoney] and the reason when Redis turns out to count in another Money. Nil: nothing is called.
	OnOtherMoney func(err error)
	in           redis.UniversalClient
	agreed       atomic.Bool
	unused       atomic.Bool           // nothing had been charged in Redis at the last beat
	fault        atomic.Pointer[error] // nil: none is known
}

// Agree makes sure, before this process first writes an amount, that Redis counts in the same Money as this process; else its error is
// [limit.ErrMoney]. It takes no round trip if a beat has read Redis's Money, one if the beat found that nothing was charged, and else
// two.
func (a *agreement) Agree(ctx context.Context) error {
	if a.agreed.Load() {
		return nil
	}
	m, known, err := a.Money, false, error(nil)
	if !a.unused.Load() {
		m, known, err = CountsIn(ctx, a.in)
	}
	if err == nil && (!known || m == a.Money) { // another Money is never written: it may only follow from the list of teams
		m, err = claimMoney(ctx, a.in, a.Money)
	}
	if err == nil || errors.Is(err, limit.ErrMoney) {
		err = a.learn(m, err)
	}
	a.agreed.Store(err == nil)
	return err
}

// MoneyFault returns [limit.ErrMoney] and the reason while Redis is known to count in another Money than this process. It makes no call.
func (a *agreement) MoneyFault() error {
	if fault := a.fault.Load(); fault != nil {
		return *fault
	}
	return nil
}

// observe records a beat's answer about money.
func (a *agreement) observe(m unit.Money, known bool, err error) {
	a.unused.Store(!known && err == nil)
	if known || errors.Is(err, limit.ErrMoney) {
		a.agreed.Store(a.learn(m, err) == nil)
	}
}

// learn records the Money of Redis, or why this version cannot read it, and returns the error of this process.
func (a *agreement) learn(m unit.Money, fault error) error {
	if other := a.Money.Fixed(m); fault == nil && other != nil {
		fault = fmt.Errorf("%w: %w", limit.ErrMoney, other)
	}
	if fault == nil {
		a.fault.Store(nil)
		return nil
	}
	a.agreed.Store(false)
	if a.fault.Swap(&fault) == nil && a.OnOtherMoney != nil {
		a.OnOtherMoney(fault)
	}
	return fault
}

// claimMoney writes the Money of this process unless another process has written one, and returns the one that was written first.
func claimMoney(ctx context.Context, client redis.UniversalClient, m unit.Money) (unit.Money, error) {
	pipe := client.Pipeline()
	pipe.SetNX(ctx, moneyKey, m.Digits(), 0)
	got := pipe.Get(ctx, moneyKey)
	if _, err := pipe.Exec(ctx); err != nil {
		return m, err
	}
	return readMoney(got.Val())
}

// moneyAsked are the commands of a pipeline that read the Money of Redis.
type moneyAsked struct {
	got  *redis.StringCmd
	used *redis.IntCmd
}

func askMoney(ctx context.Context, pipe redis.Pipeliner) moneyAsked {
	return moneyAsked{pipe.Get(ctx, moneyKey), pipe.Exists(ctx, namesKey)}
}

// answer is the result of [CountsIn].
func (q moneyAsked) answer() (m unit.Money, known bool, err error) {
	switch err := q.got.Err(); {
	case errors.Is(err, redis.Nil):
		return unit.Nanos, q.used.Val() > 0, q.used.Err()
	case err != nil:
		return m, false, err
	}
	m, err = readMoney(q.got.Val())
	return m, err == nil, err
}

// CountsIn returns the Money in which Redis counts. Where an older version has charged something, that is [unit.Nanos]. It is unknown
// until something was charged. The error is [limit.ErrMoney] if only a later version can read it.
func CountsIn(ctx context.Context, client redis.UniversalClient) (m unit.Money, known bool, err error) {
	pipe := client.Pipeline()
	asked := askMoney(ctx, pipe)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return m, false, err
	}
	return asked.answer()
}

// CheckMoney returns the error of a process that would count in another Money than Redis; nil also if Redis's is unknown at the moment.
func CheckMoney(ctx context.Context, client redis.UniversalClient, own unit.Money) error {
	m, known, err := CountsIn(ctx, client)
	switch {
	case errors.Is(err, limit.ErrMoney):
		return err
	case known:
		return own.Fixed(m)
	}
	return nil
}

func readMoney(text string) (unit.Money, error) {
	digits, _ := strconv.Atoi(text)
	m, ok := unit.MoneyOf(digits)
	if !ok {
		return m, fmt.Errorf("%w: %s is %q, which only a later version can read", limit.ErrMoney, moneyKey, text)
	}
	return m, nil
}
