package accounts_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/gateway/accounts"
	"sluice/policy/account"
	"sluice/policy/limit/limittest"
)

// The longer of two pauses counts, a pause that has ended is gone, and the key lives as long as the longest.
func TestPausesInRedis(t *testing.T) {
	for name, client := range map[string]redis.UniversalClient{"real": limittest.RealRedis(t), "fake": limittest.FakeRedis(t)} {
		t.Run(name, func(t *testing.T) {
			shared := accounts.NewRedis(client, time.Minute)
			share := func(p accounts.Pause) {
				t.Helper()
				if err := shared.Share(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			if list, err := shared.Pauses(t.Context()); err != nil || len(list) != 0 {
				t.Fatalf("%v %v", list, err)
			}
			share(accounts.Pause{Account: "a", Model: "m", Wait: time.Minute, Step: 2 * time.Second, Why: "Throttling"})
			share(accounts.Pause{Account: "a", Model: "m", Wait: time.Second, Step: time.Second, Why: "Throttling.RateQuota"})
			share(accounts.Pause{Account: "a", Model: "a model of another name", Wait: time.Hour, Why: "status 429"})
			share(accounts.Pause{Account: "b", Model: "", Wait: -time.Second})
			share(accounts.Pause{Account: "c", Model: "m", Wait: time.Millisecond})
			var list []accounts.Pause
			for list = nil; len(list) != 2; {
				var err error
				if list, err = shared.Pauses(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			slices.SortFunc(list, func(x, y accounts.Pause) int { return int(x.Wait - y.Wait) })
			m, other := list[0], list[1]
			if m.Account != "a" || m.Model != "m" || m.Step != 2*time.Second || m.Why != "Throttling" || m.Wait > time.Minute ||
				m.Wait < 50*time.Second {
				t.Errorf("%+v", m)
			}
			if other.Model != "a model of another name" || other.Why != "status 429" {
				t.Errorf("%+v", other)
			}
			if left := client.PTTL(t.Context(), "sl1:cooling").Val(); left > time.Hour || left < 59*time.Minute {
				t.Errorf("the key lives for %s", left)
			}
		})
	}
}

// What one replica hears the others know within a second, and do not ask the account; the replica that heard of a longer pause keeps that.
func TestReplicasShareAPause(t *testing.T) {
	client := limittest.RealRedis(t)
	var replicas []*accounts.Pool
	for range 3 {
		r, _ := poolOf(t, setOf(t, "id: a", "id: b, weight: 0"), func(c *accounts.Config) {
			c.Shared, c.Now = accounts.NewRedis(client, time.Minute), time.Now
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.Run(ctx) }()
		t.Cleanup(func() { stop(); <-done })
		replicas = append(replicas, r)
	}
	long, short := throttled, throttled
	long.RetryAfter, short.RetryAfter = time.Hour, time.Minute
	first, _ := replicas[0].Choose(want)
	second, _ := replicas[1].Choose(want)
	first.End(long)
	second.End(short)
	patience := time.Now().Add(20 * time.Second)
	for _, r := range replicas {
		for {
			attempt, choice := r.Choose(want)
			attempt.Drop()
			if choice.Refusal == account.Busy && choice.Wait > 59*time.Minute {
				break
			}
			if time.Now().After(patience) {
				t.Fatalf("%+v", choice)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	if s := replicas[2].Standings()[0]; s.State != account.Cooling || s.Why != "Throttling" {
		t.Errorf("%+v", s)
	}
}
