package redisstore

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/policy/limit"
	"sluice/policy/limit/limittest"
	"sluice/policy/unit"
)

func countingIn(client redis.UniversalClient, m unit.Money) *Store {
	r := New(client)
	r.Money = m
	return r
}

// agreed makes the calls that precede a process's first change of an account.
func agreed(t testing.TB, r *Store) {
	t.Helper()
	if err := r.Agree(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func charged(t *testing.T, r *Store) error {
	t.Helper()
	h := hold("a", limittest.Team(t, "quotas: {spend: {day: 5}}"), limit.Amounts{limit.Requests: 1, limit.Spend: 7})
	h.Lease = time.Hour
	_, err := admitAlone(t.Context(), r, &h)
	return err
}

// The first process that charges something says what money counts in; another value is a fault for every other one.
func TestMoneyIsFixedByTheFirstCharge(t *testing.T) {
	client, ctx := limittest.RealRedis(t), t.Context()
	six, nine := countingIn(client, unit.Micros), countingIn(client, unit.Nanos)
	if _, err := nine.Beat(ctx, time.Time{}, limit.Flight{Bound: 1}); err != nil {
		t.Fatal(err)
	}
	if _, known, err := CountsIn(ctx, client); known || err != nil || CheckMoney(ctx, client, unit.Micros) != nil {
		t.Fatalf("nothing was charged: %v, %v", known, err)
	}
	if err := charged(t, six); err != nil {
		t.Fatal(err)
	}
	if m, known, err := CountsIn(ctx, client); m != unit.Micros || !known || err != nil {
		t.Errorf("%v, %v, %v", m, known, err)
	}
	const fault = "currency_digits: got 9, allowed: 6, which is fixed once anything was charged"
	for what, err := range map[string]error{
		"an admission": charged(t, nine), "a list": nine.List(ctx, "search"), "a check": CheckMoney(ctx, client, unit.Nanos),
	} {
		if err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := nine.Adjust(ctx, limit.Correction{ID: "b", Team: "search", Unit: "spend", Delta: 1, Why: "x"}); err == nil {
		t.Error("a correction in other parts was posted")
	}
	if CheckMoney(ctx, client, unit.Micros) != nil || charged(t, countingIn(client, unit.Micros)) != nil {
		t.Error("the same value was refused")
	}
}

// What a version without the setting has charged counts in 10⁻⁹.
func TestEarlierUseCountsInNanos(t *testing.T) {
	client, ctx := limittest.RealRedis(t), t.Context()
	if err := client.SAdd(ctx, namesKey, "search").Err(); err != nil {
		t.Fatal(err)
	}
	if err := charged(t, countingIn(client, unit.Micros)); err == nil || CheckMoney(ctx, client, unit.Micros) == nil {
		t.Errorf("%v", err)
	}
	if n := client.Exists(ctx, moneyKey).Val(); n != 0 { // the key may be lost, and a replica that knows it may write it again
		t.Error("a process that counts in other parts wrote what follows from the list of teams")
	}
	if err := charged(t, countingIn(client, unit.Nanos)); err != nil || CheckMoney(ctx, client, unit.Nanos) != nil {
		t.Errorf("%v", err)
	}
}

// A Redis that lost its memory learns again what money counts in, before another process can say otherwise.
func TestMoneyOutlivesLostMemory(t *testing.T) {
	client, ctx := limittest.RealRedis(t), t.Context()
	six := countingIn(client, unit.Micros)
	if err := charged(t, six); err != nil {
		t.Fatal(err)
	}
	client.FlushAll(ctx)
	if _, err := six.Beat(ctx, time.Time{}, limit.Flight{Bound: 1}); err != nil {
		t.Fatal(err)
	}
	if m, known, _ := CountsIn(ctx, client); m != unit.Micros || !known {
		t.Error("it was forgotten")
	}
	client.Set(ctx, moneyKey, 9, 0) // another process was faster
	if _, err := six.Beat(ctx, time.Time{}, limit.Flight{Bound: 1}); err != nil {
		t.Fatal(err)
	}
	if err := charged(t, six); err == nil {
		t.Error("it charges in other parts")
	}
	client.Set(ctx, moneyKey, 12, 0)
	if _, _, err := CountsIn(ctx, client); err == nil || charged(t, countingIn(client, unit.Micros)) == nil {
		t.Error("a later version's parts were read")
	}
}
